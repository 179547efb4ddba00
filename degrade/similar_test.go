package degrade

import (
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"herald/article"
)

// essay makes a text of so many Chinese sentences or English words.
func essay(seed uint64, chinese bool, n int) []string {
	r := rand.New(rand.NewPCG(seed, 1))
	var all []string
	for range n {
		var b strings.Builder
		for range 3 + r.IntN(5) {
			if chinese {
				b.WriteRune(rune(0x4e00 + r.IntN(3000)))
			} else {
				b.WriteByte(byte('a' + r.IntN(26)))
			}
		}
		all = append(all, b.String())
	}
	return all
}

func articleOf(id string, words []string) *article.Article {
	return &article.Article{ID: id, Title: "T", Body: strings.Join(words, "，") + "\n"}
}

func TestANearDuplicateIsToldFromAnotherText(t *testing.T) {
	for _, chinese := range []bool{true, false} {
		original := essay(1, chinese, 600)
		edited := append(append(append([]string{}, original[:200]...), "something", "new", "here"), original[205:]...)
		changed := append(append([]string{}, original[:300]...), essay(2, chinese, 300)...)
		other := essay(3, chinese, 600)
		hash := Simhash(articleOf("a", original))
		distance := func(words []string) int { return bits.OnesCount64(hash ^ Simhash(articleOf("b", words))) }
		if d := distance(edited); d > near {
			t.Errorf("chinese %v: an edited text is %d bits away", chinese, d)
		}
		if d := distance(changed); d <= near {
			t.Errorf("chinese %v: a text that is half another is %d bits away", chinese, d)
		}
		if d := distance(other); d < 2*near {
			t.Errorf("chinese %v: another text is %d bits away", chinese, d)
		}
	}
}

func TestTheFingerprintIsTheSameForEver(t *testing.T) {
	a := load(t, "---\ntitle: T\n---\n"+strings.Repeat("It is **kept** in a store, 也有中文。\n\n", 30))
	if got, want := Simhash(a), uint64(0x1359674f3c5e0180); got != want {
		t.Errorf("fingerprint %#x, want %#x", got, want)
	}
}

func TestDuplicatesOfNinetyDaysAreNamed(t *testing.T) {
	words := essay(1, true, 300)
	a := articleOf("new", words)
	earlier := Earlier{ID: "old", Title: "旧文", Simhash: Simhash(a), At: noon.Add(-48 * time.Hour)}
	var since time.Time
	recent := func(entries ...Earlier) func(time.Time) []Earlier {
		return func(t time.Time) []Earlier { since = t; return entries }
	}
	check := func(a *article.Article, recent func(time.Time) []Earlier) []Finding {
		return newJudge(t, Options{Recent: recent}).Check(a, Subject{Now: noon})
	}
	found := check(a, recent(Earlier{ID: "short"}, earlier))
	if len(found) != 1 || found[0].Rule != RuleDuplicate || found[0].Message != `the text is much like that of "旧文" (old, 2026-06-15)` {
		t.Errorf("findings %+v", found)
	}
	if want := noon.Add(-90 * 24 * time.Hour); !since.Equal(want) {
		t.Errorf("asked since %v, want %v", since, want)
	}
	same := earlier
	same.ID = "new"
	allowed := *a
	allowed.AllowDuplicate = true
	for name, found := range map[string][]Finding{
		"an earlier revision": check(a, recent(same)),
		"allowed":             check(&allowed, recent(earlier)),
		"too short":           check(articleOf("new", words[:5]), recent(Earlier{ID: "old"})),
		"nobody remembers":    check(a, nil),
	} {
		if len(found) != 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
