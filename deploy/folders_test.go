package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestTheGroupDropsArticlesAndSeesNoSecret(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make files for other users")
	}
	root, uid, gid := install(t)
	umask := setting(t, "UMask")
	const state, config = "var/lib/herald/", "etc/herald/"
	people := map[string]*syscall.Credential{
		"root":     {},
		"daemon":   {Uid: uid, Gid: gid},
		"member":   {Uid: uid + 1, Gid: gid + 1, Groups: []uint32{gid}},
		"stranger": {Uid: uid + 2, Gid: gid + 2},
	}
	for _, step := range []struct {
		who, does, script string
		refused           bool
	}{
		{who: "root", does: "configures", script: "cd " + config + "; umask 022; echo x > config.yaml; echo x > credentials/token"},
		// A socket is asked by whoever may write to it, so a file stands in for it.
		{who: "daemon", does: "starts", script: "cd " + state + "; mkdir queue/.done; umask 137; touch herald.db; umask 117; touch herald.sock"},

		{who: "daemon", does: "reads its configuration", script: "cat " + config + "config.yaml"},
		{who: "daemon", does: "changes its configuration", script: "echo x >> " + config + "config.yaml", refused: true},
		{who: "member", does: "finds the socket by the configuration", script: "cat " + config + "config.yaml"},
		{who: "member", does: "reads a credential", script: "cat " + config + "credentials/token", refused: true},
		{who: "stranger", does: "reads the configuration", script: "cat " + config + "config.yaml", refused: true},

		{who: "member", does: "drops an article", script: "umask 022; echo x > " + state + "queue/a.md"},
		{who: "daemon", does: "stores it and clears it away", script: "cd " + state + "queue; cat a.md > .done/a.md; rm a.md"},
		{who: "member", does: "reads what is stored", script: "cat " + state + "queue/.done/a.md"},
		{who: "member", does: "changes what is stored", script: "echo x >> " + state + "queue/.done/a.md", refused: true},
		{who: "stranger", does: "looks into the queue", script: "ls " + state + "queue", refused: true},

		{who: "member", does: "drops a folder", script: "umask 002; cd " + state + "queue; mkdir post; echo x > post/index.md"},
		{who: "daemon", does: "stores it and clears it away", script: "cd " + state + "queue; cat post/index.md; mv post .done/.taken-post; rm -r .done/.taken-post"},
		{who: "member", does: "drops a bad one", script: "umask 022; echo x > " + state + "queue/b.md"},
		{who: "daemon", does: "refuses it", script: "cd " + state + "queue; mv b.md .bad; echo x > .bad/b.md.reason.txt"},
		{who: "member", does: "reads why and takes it back", script: "cd " + state + "queue/.bad; cat b.md.reason.txt; rm b.md.reason.txt; mv b.md .."},

		{who: "member", does: "asks the daemon", script: "test -w " + state + "herald.sock"},
		{who: "member", does: "asks the store when the daemon is down", script: "cat " + state + "herald.db"},
		{who: "member", does: "changes the store", script: "test -w " + state + "herald.db", refused: true},
		{who: "member", does: "puts something beside the store", script: "touch " + state + "x", refused: true},
		{who: "stranger", does: "asks the daemon", script: "test -w " + state + "herald.sock", refused: true},
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", "umask "+umask+"; "+step.script)
		cmd.Dir = root
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: people[step.who]}
		if out, err := cmd.CombinedOutput(); (err != nil) != step.refused {
			t.Errorf("%s %s: got error %v, want refused: %v\n%s", step.who, step.does, err, step.refused, out)
		}
	}
}

// install makes the user and the folders below a root of their own, with
// systemd's own tools.
func install(t *testing.T) (root string, uid, gid uint32) {
	t.Helper()
	root = t.TempDir()
	if err := os.Chmod(filepath.Dir(root), 0o755); err != nil { // other users pass through it
		t.Fatal(err)
	}
	for _, dir := range []string{"etc", "var/lib"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, cmd := range []*exec.Cmd{
		exec.CommandContext(t.Context(), tool(t, "systemd-sysusers"), "--root="+root, absolute(t, "herald.sysusers")),
		exec.CommandContext(t.Context(), tool(t, "systemd-tmpfiles"), "--root="+root, "--create", absolute(t, "herald.tmpfiles")),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
	}
	fields := strings.Split(read(t, filepath.Join(root, "etc/passwd")), ":")
	return root, number(t, fields[2]), number(t, fields[3])
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func number(t *testing.T, s string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}
