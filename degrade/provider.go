package degrade

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"herald/internal/httpx"
	"herald/platforms"
)

// JSONMode says how a service is asked for JSON.
type JSONMode string

// The modes. Auto begins with the strictest one and goes down when a service
// refuses a request.
const (
	JSONAuto   JSONMode = "auto"
	JSONSchema JSONMode = "schema" // response_format json_schema
	JSONObject JSONMode = "object" // response_format json_object
	JSONOff    JSONMode = "off"    // the instructions alone
)

// Provider is one AI service with an OpenAI-compatible interface.
type Provider struct {
	BaseURL string // with the version, as https://api.openai.com/v1
	APIKey  platforms.Secret
	Model   string
	Timeout time.Duration // of one call; 0: that of Options
	JSON    JSONMode      // empty: JSONAuto
	// MaxTokens bounds an answer, thinking included; 0 sends no bound.
	MaxTokens int
	// MaxChars is the longest part of an article in one call; 0 is 8000. Local
	// services cut what is too long without a word.
	MaxChars int
	// Headers are sent with each call, Extra in the body of each question; a nil
	// value there takes a field out.
	Headers map[string]platforms.Secret
	Extra   map[string]any
}

const (
	defaultMaxChars = 8000
	// minChars is how short parts become when a service finds them too long.
	minChars = 500
	// maxParts bounds what one article costs; of a longer one the beginning is
	// judged.
	maxParts = 16
	// together is how many parts are judged at the same time.
	together = 4
	maxReply = 1 << 20 // bytes
)

// provider is a configured service and what was learned of it.
type provider struct {
	Provider
	name    string // its host
	url     string
	client  *httpx.Client
	breaker *gobreaker.CircuitBreaker[opinion]
	// refusing says that the last answer was a refusal that a person must mend.
	refusing atomic.Bool

	mu    sync.Mutex
	until time.Time // it asked to be left alone so long
	last  error     // its last failure
	shape shape     // how its last good answer was asked for
}

func newProvider(p Provider, o Options) (*provider, error) {
	u, err := url.Parse(p.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("base_url is not an address")
	case p.Model == "":
		return nil, errors.New("model is missing")
	}
	orDefault(&p.Timeout, o.Timeout)
	orDefault(&p.JSON, JSONAuto)
	orDefault(&p.MaxChars, defaultMaxChars)
	first := shape{mode: p.JSON, tokens: "max_tokens", temperature: true, chars: max(p.MaxChars, minChars)}
	switch p.JSON {
	case JSONAuto:
		first.mode, first.free = JSONSchema, true
	case JSONSchema, JSONObject, JSONOff:
	default:
		return nil, fmt.Errorf("json_mode %q is not known", p.JSON)
	}
	if p.MaxTokens == 0 {
		first.tokens = ""
	}
	made := &provider{
		Provider: p, name: u.Host, url: u.JoinPath("chat/completions").String(), shape: first,
		client: httpx.New(httpx.Options{
			Platform: "quality", Secrets: secretsOf(p, u), Log: o.Log, MaxBody: maxReply, Transport: o.Transport,
		}),
	}
	made.breaker = gobreaker.NewCircuitBreaker[opinion](gobreaker.Settings{
		Name:    made.name,
		Timeout: o.OpenFor,
		// What only a person can mend opens at once: asking again is of no use.
		ReadyToTrip: func(n gobreaker.Counts) bool {
			return n.ConsecutiveFailures >= uint32(o.Failures) || made.refusing.Load()
		},
		IsExcluded:   func(err error) bool { return effect(err) == platforms.Neutral },
		IsSuccessful: func(err error) bool { return effect(err) == platforms.Healthy },
		OnStateChange: func(name string, from, to gobreaker.State) {
			o.Log.Warn("breaker changed", "provider", name, "from", from.String(), "to", to.String())
		},
	})
	return made, nil
}

// secretsOf returns what must not be told of a provider.
func secretsOf(p Provider, u *url.URL) []platforms.Secret {
	secrets := []platforms.Secret{p.APIKey}
	for _, header := range p.Headers {
		secrets = append(secrets, header)
	}
	if password, ok := u.User.Password(); ok {
		secrets = append(secrets, platforms.Secret(password))
	}
	for _, values := range u.Query() {
		for _, value := range values {
			secrets = append(secrets, platforms.Secret(value))
		}
	}
	return secrets
}

// judge asks for a verdict on the whole article, if the provider may be asked
// now. It is the first of left providers that share the time that ctx has.
func (p *provider) judge(ctx context.Context, left int, src *source, in instructions) (opinion, error) {
	ctx, cancel := share(ctx, left)
	defer cancel()
	if err := p.ready(ctx); err != nil {
		return opinion{}, err
	}
	return p.guarded(func() (opinion, error) { return p.whole(ctx, src, in) })
}

// guarded makes a call that the breaker counts.
func (p *provider) guarded(call func() (opinion, error)) (opinion, error) {
	return p.breaker.Execute(func() (opinion, error) {
		got, err := call()
		if effect(err) == platforms.Failure {
			p.mu.Lock()
			p.last = err
			p.mu.Unlock()
		}
		return got, err
	})
}

// share gives the first of n the part of the time left that is its own, so that
// one that hangs leaves some to the others.
func share(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok || n <= 1 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(end)/time.Duration(n))
}

// ready says why the provider is not to be asked now. A breaker that is half
// open is tried by the cheap call first: an article is no probe.
func (p *provider) ready(ctx context.Context) error {
	if err := p.waiting(); err != nil {
		return err
	}
	switch p.breaker.State() {
	case gobreaker.StateOpen:
		return gobreaker.ErrOpenState
	case gobreaker.StateHalfOpen:
		return p.ping(ctx)
	default:
		return nil
	}
}

// well is ready, and makes the cheap call in any case.
func (p *provider) well(ctx context.Context, left int) error {
	ctx, cancel := share(ctx, left)
	defer cancel()
	if p.breaker.State() == gobreaker.StateClosed && p.waiting() == nil {
		return p.ping(ctx)
	}
	return p.ready(ctx)
}

// waiting says until when the provider asked to be left alone; nil when it did
// not.
func (p *provider) waiting() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.until) {
		return waits{p.until}
	}
	return nil
}

// ping asks for one token: that shows, unlike a list of models, that the model
// is there and the account has money left. A refused request is an answer too.
func (p *provider) ping(ctx context.Context) error {
	_, err := p.guarded(func() (opinion, error) {
		body := map[string]any{
			"model": p.Model, "stream": false, "max_tokens": 1,
			"messages": []message{{Role: "user", Content: "ping"}},
		}
		_, err := p.post(ctx, "ping", body)
		return opinion{}, err
	})
	if effect(err) == platforms.Healthy {
		return nil
	}
	return err
}

// whole judges the article in parts as long as the service takes them.
func (p *provider) whole(ctx context.Context, src *source, in instructions) (opinion, error) {
	for chars := p.asked().chars; ; chars /= 2 {
		got, err := p.inParts(ctx, src.parts(chars), in)
		if !tooLong(err) || chars/2 < minChars {
			return got, err
		}
		p.learn(func(s *shape) { s.chars = min(s.chars, chars/2) })
	}
}

// inParts judges some parts at a time. The first failure ends it: a verdict on
// half an article is none.
func (p *provider) inParts(ctx context.Context, parts []string, in instructions) (opinion, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := min(len(parts), maxParts)
	all, errs := make([]opinion, n), make([]error, n)
	slots := make(chan struct{}, together)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if all[i], errs[i] = p.part(ctx, in.of(parts, i)); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	// The one that failed, not those that were canceled for it.
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return opinion{}, err
		}
	}
	if err := errors.Join(errs...); err != nil {
		return opinion{}, err
	}
	return combine(all, len(parts)), nil
}

// part judges one part. What is no verdict gets one more try; what the service
// does not take in the request is left out.
func (p *provider) part(ctx context.Context, q question) (opinion, error) {
	now := p.asked()
	repaired := false
	for {
		reply, err := p.post(ctx, "judge", p.body(now, q.messages()))
		if simpler, ok := now.without(err); ok {
			now = simpler
			continue
		}
		if err != nil {
			return opinion{}, err
		}
		p.learn(func(s *shape) { s.mode, s.tokens, s.temperature = now.mode, now.tokens, now.temperature })
		got, err := read(reply, q.text)
		if err == nil || repaired || !errors.As(err, new(unusable)) {
			return got, err
		}
		q.complaint, repaired = err.Error(), true
	}
}

// asked returns how the provider is asked.
func (p *provider) asked() shape {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shape
}

func (p *provider) learn(change func(*shape)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.shape)
}

// post makes one call and returns the body of a success.
func (p *provider) post(ctx context.Context, op string, body map[string]any) ([]byte, error) {
	limit := p.Timeout
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end))
	}
	if limit <= 0 {
		return nil, context.DeadlineExceeded
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	reply, err := p.client.Do(ctx, httpx.Idempotent, op, http.MethodPost, p.url, p.request(body))
	if err != nil {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			err = late{limit}
		}
		return nil, err
	}
	refused := refusal(reply)
	p.refusing.Store(refused != nil && refused.cause.Kind == platforms.Unauthorized)
	if refused == nil {
		return reply.Body, nil
	}
	if refused.cause.Kind == platforms.RateLimited {
		p.mu.Lock()
		p.until = refused.cause.RetryAt
		p.mu.Unlock()
	}
	return nil, refused
}

// why says in a sentence for people why the provider gave no verdict.
func (p *provider) why(err error) string {
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return fmt.Sprintf("%s at %s is left alone for a while, since it %s", p.Model, p.name, phrase(p.last))
	}
	return fmt.Sprintf("%s at %s %s", p.Model, p.name, phrase(err))
}
