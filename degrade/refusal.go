package degrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"herald/internal/httpx"
	"herald/platforms"
)

const codeTooLong = "context_length_exceeded"

// quotaCodes say that the money is used up. Some come with the status of "too
// fast", yet time mends none of them.
var quotaCodes = []string{
	"402",
	"insufficient_quota",
	"credit_balance_exhausted",
	"organization_spend_limit_exceeded",
	"project_spend_limit_exceeded",
	"organization_usage_limit_exceeded",
	"Arrearage",
	"AllocationQuota.FreeTierOnly",
}

// codes are what else services say in the fields code and type of an error.
// Sources: OpenAI's error codes, and with capitals Alibaba Cloud Model Studio's.
var codes = platforms.Codes{
	"invalid_api_key":            platforms.Unauthorized,
	"InvalidApiKey":              platforms.Unauthorized,
	"model_not_found":            platforms.Unauthorized,
	"ModelNotFound":              platforms.Unauthorized,
	"rate_limit_exceeded":        platforms.RateLimited,
	"Throttling":                 platforms.RateLimited,
	"Throttling.RateQuota":       platforms.RateLimited,
	"Throttling.AllocationQuota": platforms.RateLimited,
	codeTooLong:                  platforms.Rejected,
	"data_inspection_failed":     platforms.Rejected,
	"content_filter":             platforms.Rejected,
	"content_policy_violation":   platforms.Rejected,
}

// statuses are what the HTTP status means to a question where no code is known.
// It changes nothing at the service, so what broke on the way is Unavailable.
var statuses = map[int]platforms.Kind{
	400: platforms.Invalid,
	402: platforms.Unauthorized,
	404: platforms.Unauthorized, // the address or the model
	405: platforms.Unauthorized,
	409: platforms.Unavailable,
	410: platforms.Unauthorized,
	413: platforms.Rejected,
	422: platforms.Invalid,
}

// refused is a service's answer that is no verdict. param is the field of the
// request that it does not take, if it says so.
type refused struct {
	cause *platforms.Error
	param string
}

func (r *refused) Error() string { return r.cause.Error() }
func (r *refused) Unwrap() error { return r.cause }

// refusal is nil for a success. An error object makes a failure of status 200
// too.
func refusal(reply *httpx.Reply) *refused {
	e := readError(reply.Body)
	kind := e.kind()
	listed := kind != ""
	if !listed {
		kind = statuses[reply.Status]
	}
	if kind == "" {
		kind = httpx.StatusKind(httpx.Idempotent, reply.Status, reply.Header)
	}
	switch {
	case kind == "" && e == errorObject{}:
		return nil
	case kind == "":
		kind = platforms.Unavailable
	case reply.Status == 413, kind == platforms.Invalid && strings.Contains(e.message, "maximum context length"): // vLLM has no code
		kind, e.code, listed = platforms.Rejected, codeTooLong, true
	}
	if !listed {
		e.code = strconv.Itoa(reply.Status)
	}
	return &refused{reply.Fail(kind, e.code, e.message), e.param}
}

// errorObject is what a service says of a failure.
type errorObject struct{ code, param, message string }

// readError reads {"error":{…}}, {"error":"…"} and the same without a wrapper.
// Of code and type it takes the one that is in the tables.
func readError(body []byte) errorObject {
	var outer struct{ Error, Choices json.RawMessage }
	if json.Unmarshal(body, &outer) != nil || outer.Choices != nil {
		return errorObject{}
	}
	if outer.Error == nil {
		outer.Error = body
	}
	var text string
	if json.Unmarshal(outer.Error, &text) == nil {
		return errorObject{message: text}
	}
	var in struct{ Code, Type, Param, Message any } // some give numbers or null
	if json.Unmarshal(outer.Error, &in) != nil {
		return errorObject{}
	}
	var e errorObject
	e.param, _ = in.Param.(string)
	e.message, _ = in.Message.(string)
	if e.code, _ = in.Code.(string); e.kind() == "" {
		e.code, _ = in.Type.(string)
	}
	return e
}

// kind is what the code means; empty if it is in no table.
func (e errorObject) kind() platforms.Kind {
	if slices.Contains(quotaCodes, e.code) {
		return platforms.Unauthorized
	}
	return codes[e.code]
}

// late says that an answer did not come in time.
type late struct{ after time.Duration }

func (l late) Error() string {
	return fmt.Sprintf("gave no answer within %v", l.after.Round(time.Second))
}

// waits says that the service asked to be left alone.
type waits struct{ until time.Time }

func (w waits) Error() string { return "asked to wait until " + w.until.Format(time.TimeOnly) }

// effect is how the breaker counts an answer. A service that talks nonsense
// counts like one that is down; one that slows us down, or was interrupted,
// counts for nothing.
func effect(err error) platforms.Effect {
	switch {
	case err == nil:
		return platforms.Healthy
	case errors.Is(err, context.Canceled):
		return platforms.Neutral
	case errors.As(err, new(unusable)), errors.As(err, new(late)):
		return platforms.Failure
	}
	switch kind := platforms.KindOf(err); kind {
	case platforms.Unauthorized:
		return platforms.Failure
	case platforms.RateLimited:
		return platforms.Neutral
	default:
		return kind.Meaning().Breaker
	}
}

func tooLong(err error) bool {
	e, ok := errors.AsType[*platforms.Error](err)
	return ok && e.Code == codeTooLong
}

// phrase says what a provider did, behind its name.
func phrase(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "was not waited for"
	case errors.Is(err, context.DeadlineExceeded):
		return "had no time left to answer"
	case errors.As(err, new(unusable)):
		return "gave no usable verdict: " + err.Error()
	}
	e, ok := errors.AsType[*platforms.Error](err)
	if !ok {
		return err.Error()
	}
	return fmt.Sprintf("%s (%s)", meaning(e), strings.TrimSpace(e.Code+" "+e.Message))
}

// meaning says what a refusal means and, where there is something, what to do.
func meaning(e *platforms.Error) string {
	switch {
	case slices.Contains(quotaCodes, e.Code):
		return "has no quota left: top up the account or take the provider out"
	case slices.Contains([]string{"404", "405", "410", "model_not_found", "ModelNotFound"}, e.Code):
		return "does not know the address or the model: correct base_url or model"
	case e.Kind == platforms.Unauthorized:
		return "refuses the account: correct api_key or its rights"
	case e.Kind == platforms.RateLimited:
		return "asks to slow down"
	case e.Code == codeTooLong:
		return "finds the text too long: lower max_chars"
	case e.Kind == platforms.Rejected:
		return "declines to judge this text"
	case e.Kind == platforms.Invalid:
		return "does not take the request"
	default:
		return "is not available"
	}
}
