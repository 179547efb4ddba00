package dialect

import (
	"strings"
	"testing"

	"golang.org/x/net/html/atom"

	"herald/article"
)

func TestFormulasAreToldFromMoney(t *testing.T) {
	for body, want := range map[string]string{
		"质能方程$E=mc^2$是":                     "$E=mc^2$",
		"$a_1*b_1*c_1$":                     "$a_1*b_1*c_1$",
		"$x$, $y$":                          "$x$|$y$",
		"价格是 $5 和 $10":                      "",
		"$HOME and $PATH":                   "",
		"$HOME/$USER":                       "",
		"US$5 or CA$6$":                     "",
		"$ x$ $x $ $$ $":                    "",
		`\$x$ y`:                            "",
		`$a\$b$`:                            `$a\$b$`,
		"`$x$`":                             "`code`",
		"$\\{a|b\\}$":                       `$\{a|b\}$`,
		"a $$x$$ b":                         "$$x$$",
		"$$ x $$":                           "$$ x $$",
		"$$\na\n- b\n= c\n$$":               "$$\na\n- b\n= c\n$$",
		"$$ a\nb $$":                        "$$ a\nb $$",
		"a\n$$\nb\n$$\nc":                   "$$\nb\n$$",
		"> $$\n> a\n>\n> $$":                "",
		"> $$\n> a\n> - b\n> $$\n>\n> c":    "$$\na\n- b\n$$",
		"- $$\n  a\n  $$\n- b":              "$$\na\n$$",
		"$$\nnever closed\n\nmore $$\n":     "",
		"$$a$$ and more\n":                  "$$a$$",
		"$$\n$$":                            "$$\n$$",
		"$$":                                "",
		"$$$":                               "",
		"$$$$":                              "",
		"\t$$\n\ta\n\t$$":                   "`code`",
		"| $a$ | b |\n|---|---|\n| c | d |": "$a$",
	} {
		p, err := newPage(&article.Article{}, body)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, code := range find(p.root, atom.Code) {
			if hasClass(code, "formula") {
				found = append(found, strings.TrimSpace(textOf(code)))
			} else {
				found = append(found, "`code`")
			}
		}
		wantEqual(t, body, strings.Join(found, "|"), want)
	}
}
