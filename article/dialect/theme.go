package dialect

import (
	"cmp"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/styles"
	lru "github.com/hashicorp/golang-lru/v2"
)

//go:embed themes/*.css
var themeFiles embed.FS

// baseName is the style sheet below every theme: layout that no theme has to
// repeat.
const baseName = "base"

// DefaultTheme is the theme of who names none.
const DefaultTheme = "default"

// Theme is a compiled look of WeChat articles. It is built once and safe for
// concurrent use.
type Theme struct {
	sheet    sheet
	code     map[chroma.TokenType]string // declarations, empty where the text's own colour does
	warnings []string
	// coloured remembers code: an article is rendered for every account, attempt
	// and preview, and its code is what takes longest.
	coloured *lru.Cache[snippet, string]
}

// snippet is code with the name of its language.
type snippet struct{ language, source string }

// colouredLimit is how many snippets a theme remembers.
const colouredLimit = 256

// Themes returns the names of the built-in themes, sorted.
func Themes() []string {
	var names []string
	files, _ := themeFiles.ReadDir("themes") // an embedded folder can be read
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".css"); name != baseName {
			names = append(names, name)
		}
	}
	return names
}

// NewTheme compiles a built-in theme ("" is [DefaultTheme]) with the operator's own
// CSS on top. Selectors match the HTML of the article before it becomes WeChat's:
// ul, li and the like, below an <article>; themes/base.css lists the classes.
// The property --code-style names the style of chroma that colours code. CSS that
// cannot be read, an unknown theme and an unknown style are errors; what cannot
// be written into an element is left out, see [Theme.Warnings].
func NewTheme(name, css string) (*Theme, error) {
	name = cmp.Or(name, DefaultTheme)
	if !slices.Contains(Themes(), name) {
		return nil, fmt.Errorf("no theme %q: there are %s", name, strings.Join(Themes(), ", "))
	}
	coloured, err := lru.New[snippet, string](colouredLimit)
	if err != nil {
		return nil, fmt.Errorf("make room for code: %w", err)
	}
	t := &Theme{coloured: coloured, code: map[chroma.TokenType]string{}}
	var own sheet
	for _, name := range []string{baseName, name} {
		source, err := themeFiles.ReadFile(path.Join("themes", name+".css"))
		if err != nil {
			return nil, fmt.Errorf("read theme %q: %w", name, err)
		}
		if err := own.add(string(source)); err != nil {
			return nil, fmt.Errorf("read theme %q: %w", name, err)
		}
	}
	if err := own.add(css); err != nil {
		return nil, fmt.Errorf("read CSS: %w", err)
	}
	style, ok := styles.Registry[own.codeStyle]
	if !ok {
		return nil, fmt.Errorf("no code style %q", own.codeStyle)
	}
	// The style's own ground comes first, so that CSS can still change it.
	ground := style.Get(chroma.Background)
	if err := t.sheet.add(fmt.Sprintf("pre { %s }", declarations(ground, chroma.StyleEntry{}))); err != nil {
		return nil, fmt.Errorf("read code style %q: %w", own.codeStyle, err)
	}
	t.sheet.append(own.rules...)
	t.warnings = own.warnings
	for _, token := range chroma.TokenTypeValues() {
		t.code[token] = declarations(style.Get(token), ground)
	}
	return t, nil
}

// Warnings says which parts of the CSS were left out.
func (t *Theme) Warnings() []string { return slices.Clone(t.warnings) }

var defaultTheme = sync.OnceValues(func() (*Theme, error) { return NewTheme(DefaultTheme, "") })

// declarations returns the CSS of a chroma style's entry where it differs from
// ground.
func declarations(e, ground chroma.StyleEntry) string {
	var list []string
	if e.Colour.IsSet() && e.Colour != ground.Colour {
		list = append(list, "color:"+shortColour(e.Colour.String()))
	}
	if e.Background.IsSet() && e.Background != ground.Background {
		list = append(list, "background:"+shortColour(e.Background.String()))
	}
	if e.Bold == chroma.Yes {
		list = append(list, "font-weight:bold")
	}
	if e.Italic == chroma.Yes {
		list = append(list, "font-style:italic")
	}
	return strings.Join(list, ";")
}

// shortColour writes #aabbcc as #abc: WeChat counts every character.
func shortColour(c string) string {
	if len(c) == len("#aabbcc") && c[1] == c[2] && c[3] == c[4] && c[5] == c[6] {
		return string([]byte{'#', c[1], c[3], c[5]})
	}
	return c
}
