package shape

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"testing"

	"tri/schemas"
)

// patterns are those of our schemas and others that come close to what is quick.
func patterns(t *testing.T) map[string]bool {
	all := map[string]bool{}
	for _, p := range []string{
		"^[a-z]-[0-9a-f]{24}$", "^a*b+c?$", "^[ab]+[bc]+$", "^[ab]+b$", "^a?a$", "^a{2,3}b{0,2}$", "^(ab)+$", "^(ab|a[b-d]{2}|c)?$", "^(a|b)c$", "^((a|b)|c?)$", "^(a*b|b*)$", "^(?i)ab$", "^[^a]+$", "^a+?b$",
		"a", "^a", "a$", "^$", "^ab$", "^a|b$", "^[a-c]{3}[b-d]*$", "^a*b*$", "^é+$", "^\\.[0-9]$", "^(?:[0-9a-f]{4})?$", "(?m)^a$", "^a+b?c+$", "^.+$",
	} {
		all[p] = true
	}
	var collect func(v any)
	collect = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if p, ok := v["pattern"].(string); ok {
				all[p] = true
			}
			for _, sub := range v {
				collect(sub)
			}
		case []any:
			for _, sub := range v {
				collect(sub)
			}
		}
	}
	for _, name := range schemas.Names() {
		b, err := schemas.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		collect(v)
	}
	return all
}

// TestPattern: what is matched byte by byte is what regexp matches.
func TestPattern(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const letters = "aabbbccdef0123456789-_.~:/htps\n\xffé"
	for text := range patterns(t) {
		fast, err := pattern(text)
		if err != nil {
			t.Fatal(err)
		}
		slow := regexp.MustCompile(text)
		try := func(b []byte) {
			if fast(b) != slow.Match(b) {
				t.Fatalf("%s and %q: %v, regexp says otherwise", text, b, fast(b))
			}
		}
		for n := range 70 { // of one kind of letter: the counts
			for _, c := range "a0f." {
				b := make([]byte, n)
				for i := range b {
					b[i] = byte(c)
				}
				try(b)
				try(append([]byte("i-"), b...))
			}
		}
		for range 2000 {
			b := make([]byte, rng.IntN(7))
			for i := range b {
				b[i] = letters[rng.IntN(len(letters))]
				if rng.IntN(2) == 0 {
					b[i] = "abc"[rng.IntN(3)]
				}
			}
			try(b)
		}
	}
	if _, err := pattern("^[a"); err == nil {
		t.Error("took what is no pattern")
	}
}
