package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	module = "herald/"
	root   = "../.." // the module's, seen from here
	all    = "..."   // every package of ours
)

// row says which of our packages a package may import. Its tests may import what
// is in their column too. What is below article or below an adapter belongs to it.
type row struct {
	pkg            string
	imports, tests []string
}

// ours has a row for every package; the first one that fits is its row.
var ours = []row{
	{pkg: "article"},
	{pkg: "platforms", imports: []string{"article"}},
	{
		pkg:     "platforms/builtin",
		imports: []string{"internal/config", "platforms", "platforms/*"},
	},
	{
		pkg:     "platforms/*", // adapters, and the suite that they must pass
		imports: []string{"article", "internal/failpoint", "internal/httpx", "platforms"},
		tests:   []string{"platforms/platformtest"},
	},
	{
		pkg:     "state",
		imports: []string{"article", "internal/failpoint", "platforms"},
		tests:   []string{"state/statetest"},
	},
	{pkg: "state/statetest", imports: []string{"article", "platforms", "state"}},
	{
		pkg:     "degrade",
		imports: []string{"article", "internal/httpx", "platforms"},
		tests:   []string{all},
	},
	{
		pkg:     "publisher",
		imports: []string{"article", "internal/config", "internal/failpoint", "platforms", "state"},
		tests:   []string{all},
	},
	{
		pkg:     "compensate",
		imports: []string{"article", "internal/config", "platforms", "publisher", "state"},
		tests:   []string{all},
	},
	{
		pkg:     "scheduler",
		imports: []string{"article", "compensate", "internal/config", "platforms", "publisher", "state"},
		tests:   []string{all},
	},
	{pkg: "internal/config", imports: []string{"platforms"}},
	{pkg: "internal/failpoint"},
	{pkg: "internal/httpx", imports: []string{"article", "internal/failpoint", "platforms"}},
	{pkg: "internal/notify", imports: []string{"internal/httpx", "platforms", "state"}},
	{
		pkg:     "internal/control",
		imports: []string{"article", "compensate", "platforms", "state"},
		tests:   []string{all},
	},
	{pkg: "internal/bench", imports: []string{all}},
	{pkg: "internal/rules"},
	{pkg: "internal/storm", imports: []string{all}},
	{pkg: "deploy", tests: []string{"internal/config"}},
	{pkg: "cmd/*", imports: []string{all}},
}

// homes says which packages may import a dependency. Tests are no exception.
var homes = []struct {
	dependency string
	pkgs       []string
}{
	{"go.etcd.io/bbolt", []string{"state"}},
	{"github.com/sony/gobreaker", []string{"publisher", "degrade"}},
	{"github.com/robfig/cron", []string{"scheduler"}},
	{"github.com/spf13/viper", []string{"internal/config"}},
	// Who calls through internal/httpx fills in a resty.Request.
	{"github.com/go-resty/resty", []string{"internal/httpx", "platforms/*", "degrade", "internal/notify", "internal/bench"}},
	{"github.com/spf13/cobra", []string{"cmd/*"}},
}

// listed is what `go list -json` tells of a package.
type listed struct {
	ImportPath   string
	Doc          string // the first sentence of the package comment
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func TestImportsRunOneWay(t *testing.T) {
	for _, p := range list(t) {
		for _, fault := range importFaults(p) {
			t.Error(fault)
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range list(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

func TestAnImportAgainstTheRulesIsFound(t *testing.T) {
	for _, tt := range []struct {
		name   string
		p      listed
		faults int
	}{
		{"upward", listed{ImportPath: "herald/state", Imports: []string{"herald/publisher"}}, 1},
		{"downward", listed{ImportPath: "herald/publisher", Imports: []string{"herald/state", "fmt"}}, 0},
		{"article imports nothing of ours", listed{ImportPath: "herald/article", Imports: []string{"herald/platforms"}}, 1},
		{"article what is below it", listed{ImportPath: "herald/article", Imports: []string{"herald/article/picture"}}, 0},
		{"what is below article upward", listed{ImportPath: "herald/article/picture", Imports: []string{"herald/state"}}, 1},
		{"one adapter another", listed{ImportPath: "herald/platforms/wechat", Imports: []string{"herald/platforms/weibo"}}, 1},
		{"an adapter its own", listed{ImportPath: "herald/platforms/wechat", TestImports: []string{"herald/platforms/wechat/wechattest"}}, 0},
		{"an adapter's simulator its adapter's neighbor", listed{ImportPath: "herald/platforms/wechat/wechattest", Imports: []string{"herald/platforms/weibo"}}, 1},
		{"an adapter the configuration", listed{ImportPath: "herald/platforms/git", Imports: []string{"herald/internal/config"}}, 1},
		{"an adapter the suite", listed{ImportPath: "herald/platforms/git", Imports: []string{"herald/platforms/platformtest"}}, 1},
		{"an adapter's test the suite", listed{ImportPath: "herald/platforms/git", XTestImports: []string{"herald/platforms/platformtest"}}, 0},
		{"the lanes an adapter", listed{ImportPath: "herald/scheduler", Imports: []string{"herald/platforms/git"}}, 1},
		{"the list of adapters an adapter", listed{ImportPath: "herald/platforms/builtin", Imports: []string{"herald/platforms/git"}}, 0},
		{"the program everything", listed{ImportPath: "herald/cmd/herald", Imports: []string{"herald/state", "herald/platforms/git"}}, 0},
		{"a package that has no row", listed{ImportPath: "herald/util"}, 1},

		{"bbolt at home", listed{ImportPath: "herald/state", Imports: []string{"go.etcd.io/bbolt", "go.etcd.io/bbolt/errors"}}, 0},
		{"bbolt away", listed{ImportPath: "herald/scheduler", Imports: []string{"go.etcd.io/bbolt/errors"}}, 1},
		{"bbolt away in a test", listed{ImportPath: "herald/scheduler", XTestImports: []string{"go.etcd.io/bbolt"}}, 1},
		{"another major version away", listed{ImportPath: "herald/state", Imports: []string{"github.com/sony/gobreaker/v3"}}, 1},
		{"resty in an adapter", listed{ImportPath: "herald/platforms/wechat", Imports: []string{"github.com/go-resty/resty/v2"}}, 0},
		{"resty in the vocabulary", listed{ImportPath: "herald/platforms", Imports: []string{"github.com/go-resty/resty/v2"}}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if faults := importFaults(tt.p); len(faults) != tt.faults {
				t.Errorf("got %q, want %d faults", faults, tt.faults)
			}
		})
	}
}

// importFaults returns what is wrong with the imports of a package.
func importFaults(p listed) []string {
	pkg := strings.TrimPrefix(p.ImportPath, module)
	at := slices.IndexFunc(ours, func(r row) bool { return fits(r.pkg, pkg) })
	if at < 0 {
		return []string{fmt.Sprintf("%s is not in the table of imports: add it to ours", pkg)}
	}
	var faults []string
	check := func(kind string, imports, allowed []string) {
		for _, i := range imports {
			if dep, is := strings.CutPrefix(i, module); is && family(dep) != family(pkg) && !fitsOne(allowed, dep) {
				faults = append(faults, fmt.Sprintf("%s%s imports %s, and may only import %v", pkg, kind, dep, allowed))
			}
			for _, h := range homes {
				if (i == h.dependency || strings.HasPrefix(i, h.dependency+"/")) && !fitsOne(h.pkgs, pkg) {
					faults = append(faults, fmt.Sprintf("%s%s imports %s, which only %v may", pkg, kind, i, h.pkgs))
				}
			}
		}
	}
	check("", p.Imports, ours[at].imports)
	check("'s test", slices.Concat(p.TestImports, p.XTestImports), slices.Concat(ours[at].imports, ours[at].tests))
	return faults
}

// family is the package that a package belongs to: article or an adapter with what
// is below it, or the package itself.
func family(pkg string) string {
	switch parts := strings.Split(pkg, "/"); {
	case parts[0] == "article":
		return parts[0]
	case parts[0] == "platforms" && len(parts) > 2:
		return path.Join(parts[:2]...)
	}
	return pkg
}

// fits reports whether a package, or the one it belongs to, is meant by a pattern.
func fits(pattern, pkg string) bool {
	ok, err := path.Match(pattern, family(pkg))
	return err == nil && ok || pattern == all
}

func fitsOne(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(p, pkg) })
}

// list returns the packages of the module.
func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Doc,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("go list: %v\n%s", err, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		t.Fatal("go list names no package")
	}
	return all
}
