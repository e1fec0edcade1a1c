package search

import (
	"strings"
	"testing"
)

// TestLoose asks in no form of asked.go, for several things at once, and for what types, templates or
// comments alone tell. A sentence is of medium confidence where it guesses what is meant.
func TestLoose(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"types/client.d.ts": "export interface Options {\n  /** How long to wait for the body. Defaults to 300 seconds. " +
			"*/\n  bodyPause?: number;\n  /** How long to wait for the head. Default: `9e3`. */\n  headPause?: number;\n}\n",
		"net/fetch.py": "DEFAULT_LIMITS = Limits(total=5 * 60, connect=30)\n\n\n" +
			"class Shape(Enum):\n    ROUND = 1\n    FLAT = 2\n\n\nclass Options:\n    tls: Union[Context, bool]\n",
		"src/refuse.js": "function refuse (name) {\n  if (!name.open) {\n" +
			"    throw new Error(`fetch of ${name} was not allowed here`)\n  }\n}\n",
		"src/etag.js": "// Makes the entity tag of a static file.\n" +
			"function entityTag (file) {\n  return file.size + file.time\n}\n",
		"src/Cache.java": "class Cache {\n  /**\n   * Sets the helper. By default, {@link Pool#common} is used." +
			"\n   */\n  Cache helperPool(Pool pool) {\n    return this;\n  }\n}\n",
	})
	for _, tt := range []struct{ question, say string }{
		{"default for headPause and bodyPause?",
			"`headPause`, says its comment: \"Default: '9e3'\" (types/client.d.ts:4). " +
				"`bodyPause`, says its comment: \"Defaults to 300 seconds\" (types/client.d.ts:2)."},
		{"what is the value of DEFAULT_LIMITS?",
			"`DEFAULT_LIMITS` is `Limits(total=5 * 60, connect=30)` (net/fetch.py:1)."},

		{"what Shapes are there?", "The values of `Shape` are `ROUND`, `FLAT` (net/fetch.py:5-6)."},
		{"what am I allowed to pass for tls= in a fetch?",
			"`tls` of `Options` takes `Union[Context, bool]` (net/fetch.py:10)."},
		{"why does it say that my fetch was not allowed here",
			"\"was not allowed here\" comes from `refuse` (src/refuse.js:3), only if `!name.open`."},
		{"which bit of it makes the entity tag of static files",
			"`entityTag` is in src/etag.js:2: \"Makes the entity tag of a static file\"."},
		{"which helper pool is used if i set none",
			"`Cache.helperPool`, says its comment: \"By default, Pool#common is used\" (src/Cache.java:3)."},
	} {
		ret, err := ask(t, New(), dir, tt.question)
		if err != nil || !strings.HasPrefix(ret.DraftReply, tt.say+"\n") {
			t.Errorf("%q: %v\n%s\nwant\n%s", tt.question, err, ret.DraftReply, tt.say)
			continue
		}
		proved(t, dir, tt.question, ret)
	}
}
