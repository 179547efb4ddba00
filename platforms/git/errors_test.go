package git

import (
	"errors"
	"strings"
	"testing"

	"herald/platforms"
)

func TestWhatGitSaysHasAKind(t *testing.T) {
	tests := []struct {
		code        string
		push, fetch platforms.Kind
		text        string
	}{
		{"fetch-first", platforms.Unavailable, platforms.Unavailable, "To /r\n!\tHEAD:refs/heads/main\t[rejected] (fetch first)\nDone\nerror: failed to push some refs to '/r'"},
		{"non-fast-forward", platforms.Unavailable, platforms.Unavailable, "!\tHEAD:refs/heads/main\t[rejected] (non-fast-forward)"},
		{"pre-receive", platforms.Rejected, platforms.Rejected, "remote: no\n!\tHEAD:refs/heads/main\t[remote rejected] (pre-receive hook declined)"},
		{"hook-declined", platforms.Rejected, platforms.Rejected, "!\tHEAD:refs/heads/main\t[remote rejected] (hook declined)"},
		{"protected-branch", platforms.Unauthorized, platforms.Unauthorized, "remote: error: GH006: Protected branch update failed for refs/heads/main.\n!\tHEAD:refs/heads/main\t[remote rejected] (protected branch hook declined)"},
		{"protected-branch", platforms.Unauthorized, platforms.Unauthorized, "remote: Gitea: Not allowed to push to protected branch main\n!\tx\t[remote rejected] (pre-receive hook declined)"},
		{"file-too-large", platforms.Rejected, platforms.Rejected, "remote: error: File a.png is 120.00 MB; this exceeds GitHub's file size limit of 100.00 MB\n!\tx\t[remote rejected] (pre-receive hook declined)"},
		{"push-protection", platforms.Rejected, platforms.Rejected, "remote: - Push cannot contain secrets\n!\tx\t[remote rejected] (push declined due to repository rule violations)"},
		{"repository-rules", platforms.Unauthorized, platforms.Unauthorized, "!\tx\t[remote rejected] (push declined due to repository rule violations)"},
		{"checked-out", platforms.Unauthorized, platforms.Unauthorized, "!\tx\t[remote rejected] (branch is currently checked out)"},
		{"lock-ref", platforms.Unavailable, platforms.Unavailable, "!\tx\t[remote rejected] (cannot lock ref 'refs/heads/main': is at a but expected b)"},
		{"lock-ref", platforms.Unavailable, platforms.Unavailable, "!\tx\t[remote rejected] (failed to update ref)"},
		{"http-403", platforms.Unauthorized, platforms.Unauthorized, "remote: Permission to o/r.git denied to u.\nfatal: unable to access 'https://h/r.git/': The requested URL returned error: 403"},
		{"http-403", platforms.Unauthorized, platforms.Unauthorized, "error: RPC failed; HTTP 403 curl 22 The requested URL returned error: 403\nsend-pack: unexpected disconnect while reading sideband packet\nfatal: the remote end hung up unexpectedly"},
		{"auth-failed", platforms.Unauthorized, platforms.Unauthorized, "fatal: Authentication failed for 'https://h/r.git/'"},
		{"permission-denied", platforms.Unauthorized, platforms.Unauthorized, "git@h: Permission denied (publickey).\nfatal: Could not read from remote repository."},
		{"host-key", platforms.Unauthorized, platforms.Unauthorized, "Host key verification failed.\nfatal: Could not read from remote repository."},
		{"no-repository", platforms.Unauthorized, platforms.Unauthorized, "remote: Repository not found.\nfatal: repository 'https://github.com/o/r/' not found"},
		{"http-429", platforms.RateLimited, platforms.RateLimited, "fatal: unable to access 'https://h/': The requested URL returned error: 429"},
		{"http-413", platforms.Rejected, platforms.Rejected, "error: RPC failed; HTTP 413 curl 22 The requested URL returned error: 413\nfatal: the remote end hung up unexpectedly"},
		{"unknown-host", platforms.Unavailable, platforms.Unavailable, "fatal: unable to access 'https://h/': Could not resolve host: h"},
		{"unknown-host", platforms.Unavailable, platforms.Unavailable, "ssh: Could not resolve hostname h: Name or service not known\nfatal: Could not read from remote repository."},
		{"refused", platforms.Unavailable, platforms.Unavailable, "ssh: connect to host h port 22: Connection refused\nfatal: Could not read from remote repository."},
		{"timed-out", platforms.Unavailable, platforms.Unavailable, "ssh: connect to host h port 22: Connection timed out\nfatal: Could not read from remote repository."},
		{"no-access", platforms.Unavailable, platforms.Unavailable, "fatal: unable to access 'https://h/': The requested URL returned error: 503"},
		{"rpc-failed", platforms.Uncertain, platforms.Unavailable, "error: RPC failed; HTTP 502 curl 22 The requested URL returned error: 502\nfatal: the remote end hung up unexpectedly"},
		{"hung-up", platforms.Uncertain, platforms.Unavailable, "fatal: the remote end hung up unexpectedly"},
		{"disconnected", platforms.Uncertain, platforms.Unavailable, "send-pack: unexpected disconnect while reading sideband packet\nclient_loop: send disconnect: Connection timed out"},
		{"early-eof", platforms.Uncertain, platforms.Unavailable, "fatal: early EOF"},
		{"no-remote", platforms.Uncertain, platforms.Unavailable, "Connection closed by 10.0.0.1 port 22\nfatal: Could not read from remote repository."},
		{"128", platforms.Unknown, platforms.Unavailable, "fatal: the moon is full"},
	}
	for _, tt := range tests {
		for command, want := range map[string]platforms.Kind{"push": tt.push, "fetch": tt.fetch} {
			err := asError(&commandError{command: command, dir: "/clone", text: tt.text, exit: 128, started: true})
			e, ok := errors.AsType[*platforms.Error](err)
			if !ok || e.Kind != want || e.Code != tt.code || e.Op != command {
				t.Errorf("%s: %+v for %q; want %s, code %s", command, e, tt.text, want, tt.code)
			}
		}
	}
}

func TestAKilledPushIsUncertainAndNothingElseIs(t *testing.T) {
	for _, tt := range []struct {
		command string
		started bool
		want    platforms.Kind
	}{
		{"push", true, platforms.Uncertain},
		{"push", false, platforms.Unavailable},
		{"fetch", true, platforms.Unavailable},
		{"commit", true, platforms.Unavailable},
	} {
		err := asError(&commandError{command: tt.command, exit: -1, started: tt.started, text: "cannot lock ref", err: errors.New("signal: killed")})
		if kind := platforms.KindOf(err); kind != tt.want {
			t.Errorf("%s, started: %v: %v, want %s", tt.command, tt.started, err, tt.want)
		}
	}
}

func TestACodeHasOneKind(t *testing.T) {
	for _, r := range rows {
		if r.kind != Codes[r.code] {
			t.Errorf("%s is %s and %s", r.code, r.kind, Codes[r.code])
		}
	}
}

func TestAMessageIsShortAndSaysWhatTheServerSaid(t *testing.T) {
	e := &commandError{text: "To /r\nhint: try again\nremote: first\n!\tx\t[remote rejected] (hook declined)\nDone\n"}
	if got, want := e.Error(), "remote: first; ! x [remote rejected] (hook declined)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	e.text = "fatal: " + strings.Repeat("长", 1000)
	if got := e.Error(); len(got) > maxLine+len("…") || !strings.HasSuffix(got, "长…") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
