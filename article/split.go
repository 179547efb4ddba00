package article

import "strings"

// delimiter is the line before and behind the front matter.
const delimiter = "---"

// parts are the two parts of a source and the lines of the file they begin on.
type parts struct {
	front, body         string
	frontLine, bodyLine int // frontLine is 0 when there is no front matter
}

// split separates front matter and body. Blank lines before the front matter do
// not hide it.
func split(text string) (parts, *Problem) {
	rest, line := text, 1
	first, after, more := strings.Cut(rest, "\n")
	for more && strings.TrimSpace(first) == "" {
		rest, line = after, line+1
		first, after, more = strings.Cut(rest, "\n")
	}
	switch strings.TrimRight(first, " \t") {
	case delimiter:
	case "+++":
		return parts{}, &Problem{
			Line: line, Rule: "front-matter-toml", What: "TOML front matter is not supported",
			Fix: "write it as YAML between two lines of " + delimiter,
		}
	default:
		return parts{body: text, bodyLine: 1}, nil
	}

	p := parts{frontLine: line + 1}
	for n := line + 1; more; n++ {
		var current string
		start := len(rest) - len(after)
		current, after, more = strings.Cut(after, "\n")
		if strings.TrimRight(current, " \t") == delimiter {
			opening := len(first) + 1
			p.front, p.body, p.bodyLine = rest[opening:start], after, n+1
			return p, nil
		}
	}
	return parts{}, &Problem{
		Line: line, Rule: "front-matter-unclosed", What: "the front matter that begins here is never closed",
		Fix: "end it with a line " + delimiter + `; a rule at the top of a text is written "***"`,
	}
}
