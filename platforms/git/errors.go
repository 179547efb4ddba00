package git

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"herald/platforms"
)

// row is one thing that git or the server says. Git gives no codes beside its
// exit status, so its text decides; LC_ALL=C keeps the text in one language.
type row struct {
	code string // herald's name for it
	kind platforms.Kind
	text string
}

// The codes that the program itself asks for.
const (
	codeFetchFirst     = "fetch-first"
	codeNonFastForward = "non-fast-forward"
	codeNoBranch       = "no-branch"
	codeDamaged        = "damaged-clone"
)

// rows is the table; the first row whose text appears counts. The causes come
// before git's closing words, which are the same for many of them. Uncertain is
// what a row means for a push; whoever only reads takes it for Unavailable.
var rows = []row{
	// The branch has moved on: fetch and do it again.
	{codeFetchFirst, platforms.Unavailable, "[rejected] (fetch first)"},
	{codeNonFastForward, platforms.Unavailable, "[rejected] (non-fast-forward)"},

	// The server has looked at the push and refuses it.
	{"push-protection", platforms.Rejected, "Push cannot contain secrets"},
	{"file-too-large", platforms.Rejected, "exceeds GitHub's file size limit"},
	{"http-413", platforms.Rejected, "HTTP 413"},
	{"protected-branch", platforms.Unauthorized, "protected branch"},
	{"not-allowed", platforms.Unauthorized, "not allowed to push"},
	{"repository-rules", platforms.Unauthorized, "repository rule violations"},
	{"pre-receive", platforms.Rejected, "pre-receive hook declined"},
	{"hook-declined", platforms.Rejected, "hook declined"},
	{"checked-out", platforms.Unauthorized, "branch is currently checked out"},
	{"hidden-ref", platforms.Unauthorized, "deny updating a hidden ref"},
	{"object-permission", platforms.Unauthorized, "insufficient permission for adding an object"},
	{"no-space", platforms.Unavailable, "No space left on device"},
	{"lock-ref", platforms.Unavailable, "cannot lock ref"},
	{"lock-ref", platforms.Unavailable, "failed to update ref"},
	{"unpacker", platforms.Unavailable, "unpacker error"},
	{"index-lock", platforms.Unavailable, "index.lock': File exists"},

	// Credential, permission, address: a person is needed.
	{"auth-failed", platforms.Unauthorized, "Authentication failed"},
	{"no-credential", platforms.Unauthorized, "could not read Username"},
	{"no-credential", platforms.Unauthorized, "could not read Password"},
	{"http-401", platforms.Unauthorized, "returned error: 401"},
	{"http-403", platforms.Unauthorized, "returned error: 403"},
	{"permission-denied", platforms.Unauthorized, "Permission denied"},
	{"permission-denied", platforms.Unauthorized, "Permission to "},
	{"host-key", platforms.Unauthorized, "Host key verification failed"},
	{"ssh-negotiation", platforms.Unauthorized, "Unable to negotiate with"},
	{"ssh-command", platforms.Unauthorized, "cannot run "},
	{"no-repository", platforms.Unauthorized, "does not appear to be a git repository"},
	{"no-repository", platforms.Unauthorized, "Repository not found"},
	{"no-repository", platforms.Unauthorized, "' not found"},
	{"no-repository", platforms.Unauthorized, "repository not exported"},
	{codeNoBranch, platforms.Unauthorized, "couldn't find remote ref"},
	{"ownership", platforms.Unauthorized, "dubious ownership"},
	{"certificate", platforms.Unauthorized, "SSL certificate problem"},
	{"certificate", platforms.Unauthorized, "certificate verification failed"},
	{"transport", platforms.Unauthorized, "nable to find remote helper"},
	{"transport", platforms.Unauthorized, "' not allowed"},
	{"symlink", platforms.Unauthorized, "beyond a symbolic link"},

	{"http-429", platforms.RateLimited, "returned error: 429"},
	{"http-429", platforms.RateLimited, "HTTP 429"},

	// Our own clone is no longer what git wrote.
	{codeDamaged, platforms.Unavailable, "not a git repository"},
	{codeDamaged, platforms.Unavailable, "bad object"},
	{codeDamaged, platforms.Unavailable, "is corrupt"},
	{codeDamaged, platforms.Unavailable, "did not send all necessary objects"},

	// The connection broke under way.
	{"rpc-failed", platforms.Uncertain, "RPC failed"},
	{"disconnected", platforms.Uncertain, "unexpected disconnect"},
	{"hung-up", platforms.Uncertain, "remote end hung up"},
	{"early-eof", platforms.Uncertain, "early EOF"},

	// There was no connection.
	{"unknown-host", platforms.Unavailable, "ould not resolve host"},
	{"unknown-host", platforms.Unavailable, "Could not resolve proxy"},
	{"refused", platforms.Unavailable, "Connection refused"},
	{"refused", platforms.Unavailable, "Failed to connect to"},
	{"timed-out", platforms.Unavailable, "Connection timed out"},
	{"no-route", platforms.Unavailable, "No route to host"},
	{"no-route", platforms.Unavailable, "Network is unreachable"},
	// Over HTTP git says this of the question before the push.
	{"no-access", platforms.Unavailable, "unable to access"},

	{"no-remote", platforms.Uncertain, "Could not read from remote repository"},
}

// Codes is the table as code → kind.
var Codes = func() platforms.Codes {
	codes := platforms.Codes{}
	for _, r := range rows {
		codes[r.code] = r.kind
	}
	return codes
}()

// commandError is a git command that ended badly, or not at all.
type commandError struct {
	command string // "push"
	dir     string // of the clone
	text    string // what it printed, without secrets
	exit    int    // -1 if it did not exit by itself
	started bool
	err     error
}

func (e *commandError) Error() string {
	if line := e.line(); line != "" {
		return line
	}
	return e.err.Error()
}

func (e *commandError) Unwrap() error { return e.err }

// row returns the row of the table that fits.
func (e *commandError) row() (row, bool) {
	for _, r := range rows {
		if strings.Contains(e.text, r.text) {
			return r, true
		}
	}
	return row{}, false
}

// is reports whether err is a command that ended with one of the codes.
func is(err error, codes ...string) bool {
	e, ok := errors.AsType[*commandError](err)
	if !ok {
		return false
	}
	r, ok := e.row()
	for _, code := range codes {
		if ok && r.code == code {
			return true
		}
	}
	return false
}

// damaged reports whether err comes from the clone's own state. What works on the
// clone alone has hardly another reason to fail; what talks to the remote then
// names a file of the clone.
func damaged(err error) bool {
	e, ok := errors.AsType[*commandError](err)
	if !ok || e.exit <= 0 {
		return false
	}
	r, listed := e.row()
	switch e.command {
	case "fetch", "push", "ls-remote":
		return listed && r.code == codeDamaged || !listed && strings.Contains(e.text, e.dir)
	default:
		return !listed || r.code == codeDamaged
	}
}

// maxLine is the length of what a person is shown of git's output, in bytes.
const maxLine = 300

// line returns the lines that tell a person most: what the server said, and the
// refusal or the first complaint.
func (e *commandError) line() string {
	var told []string
	for line := range strings.Lines(e.text) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"remote: ", "!\t", "fatal: ", "error: ", "ssh: "} {
			if strings.HasPrefix(line, prefix) {
				told = append(told, strings.ReplaceAll(line, "\t", " "))
			}
		}
	}
	if len(told) == 0 {
		told = append(told, strings.TrimSpace(e.text))
	}
	line := strings.Join(told, "; ")
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + "…"
	}
	return line
}

// asError turns any error of this package into a platform's.
func asError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*platforms.Error](err); ok {
		return e
	}
	e, ok := errors.AsType[*commandError](err)
	if !ok {
		return &platforms.Error{Platform: platform, Op: "clone", Kind: platforms.Unavailable, Message: err.Error(), Err: err}
	}
	out := &platforms.Error{Platform: platform, Op: e.command, Kind: e.kind(), Message: e.Error(), Err: err}
	switch r, listed := e.row(); {
	case listed && !e.stopped():
		out.Code = r.code
	case e.exit > 0:
		out.Code = strconv.Itoa(e.exit)
	}
	return out
}

// stopped reports whether the command did not end by itself.
func (e *commandError) stopped() bool { return e.exit < 0 }

// kind says what the failure means. Only a push can have changed anything.
func (e *commandError) kind() platforms.Kind {
	pushing := e.command == "push"
	r, listed := e.row()
	switch {
	case errors.Is(e.err, exec.ErrNotFound):
		return platforms.Unauthorized
	case e.stopped() && pushing && e.started:
		return platforms.Uncertain
	case e.stopped():
		return platforms.Unavailable
	case !listed && pushing:
		return platforms.Unknown
	case !listed, r.kind == platforms.Uncertain && !pushing:
		return platforms.Unavailable
	default:
		return r.kind
	}
}

// ended is a wait that the context ended before anything was done.
func ended(ctx context.Context, op string) *platforms.Error {
	return &platforms.Error{
		Platform: platform, Op: op, Kind: platforms.Unavailable,
		Message: fmt.Sprintf("nothing was sent: %v", context.Cause(ctx)), Err: context.Cause(ctx),
	}
}
