package declaration

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var sources = map[string]string{
	"a.go": `package a

// MaxRetries is how often a charge is tried again. It is low.
const MaxRetries = 5

// Level is how much is logged.
type Level int

const (
	Debug Level = iota
	Info
)

type Pool struct {
	Size int // open connections
}

// New makes a pool.
func New() (*Pool, error) {
	p := &Pool{Size: 4}
	if p.Size <= 0 {
		p.Size = 8
	}
	return p, p.open()
}

func (p *Pool) open() error { return nil }
`,
	"a.py": `LIMIT = 30

class Color(Enum):
    RED = "red"  # = not this
    BLUE = "blue"

class Retries(Setting):
    name = "max_retries"
    cli = ["--max-retries"]
    default = 4

class Session(Base):
    """Keeps cookies. And more."""

    retries: int = 3

    def __init__(self, size=10,
                 name: str = "a,b"):
        self.size = size
        if size > 99:
            self.size = 99
        self.open = False

    async def send(self, url) -> Response:
        return await self._get(url)

    def _get(self, url):
        # send(url) would be called here
        return "send(url)"
`,
	"a.ts": `// Options of a queue.
export interface Options {
  readonly mode?: "fast" | "slow";
  limit: number;
}

export enum Kind {
  One = 1,
  Two,
}

export class Queue {
  #size = 7;
  constructor(options = {}) {
    this.timeout = 250;
  }

  async add(fn: () => void): Promise<number> {
    if (fn) { return run(fn); }
    return 0;
  }
}

export function run(fn: () => void, count = 2): number {
  return count;
}

export type Colour = "red" |
  "blue" | null;

function both(a: number): null | { x: string } {
  return copy<"data">(a);
}

const defaults = {
  retries: 3,
  name: 'x{',
};
`,
	"a.rs": `/// The most that is open.
pub const MAX_OPEN: usize = 10;

pub enum Mode {
    Fast,
    Slow(u8),
}

pub struct Walk<'a> {
    depth: usize,
    name: &'a str,
}

impl<'a> Default for Walk<'a> {
    fn default() -> Walk<'a> {
        Walk {
            depth: 3,
            name: "}",
        }
    }
}

impl<'a> Walk<'a> {
    /// Opens it.
    pub fn open<F>(&self, f: F) -> io::Result<bool>
    where
        F: Fn() -> bool,
    {
        self.check('}')
    }

    fn check(&self, c: char) -> io::Result<bool> { Ok(c == '{') }

    const ROOT: Walk<'a> = Walk(0);

    fn new(deep: bool) -> Walk {
        if deep {
            Walk {
                depth: 9,
            };
        }
        Walk {
            depth: 1,
        }
    }
}
`,
	"a.java": `public class Pool extends Base {
    private static final int MAX = 10;
    private long timeout = 30;

    public Pool(int size) {
        this.size = 4;
    }

    /**
     * Opens one. Later.
     * @return it
     */
    @Override
    public Connection open(String url)
            throws IOException {
        return connect("open(");
    }

    enum State {
        OPEN, // yes
        CLOSED;
    }

    public enum Mood { GOOD(1), BAD }
}
`,
}

// TestRead reads each language and finds every declaration at its line.
func TestRead(t *testing.T) {
	for name, want := range map[string][]string{
		"a.go": {"4 constant MaxRetries = 5", "7 type Level [Debug Info]", "10 constant Debug = iota : Level",
			"11 constant Info", "14 type Pool", "15 field Pool.Size : int",
			"19 function New : (*Pool, error)", "20 setting New.Size = 4", "22 setting New.Size = 8",
			"27 method Pool.open : error"},
		"a.py": {"1 constant LIMIT = 30", "3 type Color [RED BLUE]", `4 constant Color.RED = "red"`,
			`5 constant Color.BLUE = "blue"`, "7 type Retries", `8 field Retries.name = "max_retries"`,
			"8 field Retries.max_retries = 4", `9 field Retries.cli = ["--max-retries"]`,
			"10 field Retries.default = 4", "12 type Session", "15 field Session.retries = 3 : int",
			"17 method Session.__init__", "17 parameter Session.__init__.size = 10",
			`18 parameter Session.__init__.name = "a,b"`, "19 setting Session.__init__.size = size",
			"22 setting Session.__init__.open = False", "24 method Session.send : Response",
			"27 method Session._get"},
		"a.ts": {"2 type Options", `3 field Options.mode : "fast" | "slow" [fast slow]`, "4 field Options.limit : number",
			"7 type Kind [One Two]", "8 field Kind.One = 1", "9 constant Kind.Two",
			"12 type Queue", "13 field Queue.#size = 7", "14 method Queue.constructor",
			"14 parameter Queue.constructor.options = {}", "15 setting Queue.constructor.timeout = 250",
			"18 method Queue.add : Promise<number>", "24 function run : number", "24 parameter run.count = 2",
			`28 type Colour : "red" | "blue" | null [red blue null]`,
			"31 function both : null | { x: string }", "35 variable defaults", "36 setting defaults.retries = 3",
			"37 setting defaults.name = 'x{'"},
		"a.rs": {"2 constant MAX_OPEN = 10 : usize", "4 type Mode [Fast Slow]", "5 constant Mode.Fast",
			"6 constant Mode.Slow", "9 type Walk", "10 field Walk.depth : usize",
			"11 field Walk.name : &'a str", "15 method Walk.default : Walk<'a>",
			"17 setting Walk.default.depth = 3", `18 setting Walk.default.name = "}"`,
			"25 method Walk.open : io::Result<bool>", "32 method Walk.check : io::Result<bool>",
			"34 constant Walk.ROOT = Walk(0) : Walk<'a>", "36 method Walk.new : Walk",
			"43 setting Walk.new.depth = 1"},
		"a.java": {"1 type Pool", "2 constant Pool.MAX = 10 : int", "3 field Pool.timeout = 30 : long",
			"5 method Pool.Pool", "6 setting Pool.Pool.size = 4",
			"14 method Pool.open : Connection", "19 type Pool.State [OPEN CLOSED]", "20 constant State.OPEN",
			"21 constant State.CLOSED", "24 type Pool.Mood [GOOD BAD]"},
	} {
		var got []string
		for _, d := range Read(name, []byte(sources[name])) {
			text := fmt.Sprintf("%d %s %s", d.Line, d.Kind, d.Full())
			if d.Value != "" {
				text += " = " + d.Value
			}
			if d.Type != "" && d.Kind != Constant || d.Type != "" && d.Value != "" {
				text += " : " + d.Type
			}
			if len(d.Members) > 0 {
				text += fmt.Sprint(" ", d.Members)
			}
			got = append(got, text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestLinesAndComments(t *testing.T) {
	for _, tt := range []struct{ file, name, doc, lines string }{
		{"a.go", "MaxRetries", "MaxRetries is how often a charge is tried again.", "3-4"},
		{"a.go", "New", "New makes a pool.", "18-25"},
		{"a.py", "Session", "Keeps cookies.", "12-29"},
		{"a.ts", "Options", "Options of a queue.", "1-5"},
		{"a.rs", "open", "Opens it.", "24-30"},
		{"a.java", "open", "Opens one.", "9-17"},
	} {
		all := Read(tt.file, []byte(sources[tt.file]))
		i := slices.IndexFunc(all, func(d Declaration) bool { return d.Name == tt.name })
		if i < 0 {
			t.Errorf("%s: no %s", tt.file, tt.name)
			continue
		}
		if d := all[i]; d.Doc != tt.doc || fmt.Sprintf("%d-%d", d.Start, d.End) != tt.lines {
			t.Errorf("%s %s: %d-%d %q, want %s %q", tt.file, tt.name, d.Start, d.End, d.Doc, tt.lines, tt.doc)
		}
	}
}

// TestUses finds calls, and no name in a comment, a string or a declaration.
func TestUses(t *testing.T) {
	for _, tt := range []struct{ file, name, want string }{
		{"a.go", "open", "[{24 New 19 true }]"},
		{"a.py", "send", "[]"},
		{"a.py", "_get", "[{25 Session.send 24 true }]"},
		{"a.ts", "run", "[{19 Queue.add 18 true }]"},
		{"a.ts", "copy", "[{32 both 31 true }]"},
		{"a.rs", "check", "[{29 Walk.open 25 true }]"},
		{"a.java", "open", "[]"},
		{"a.txt", "open", "[]"},
	} {
		if got := fmt.Sprint(Uses(tt.file, []byte(sources[tt.file]), tt.name)); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.file, tt.name, got, tt.want)
		}
	}
}

// TestHostileFiles: long comments, heads and values take memory in proportion to a file.
func TestHostileFiles(t *testing.T) {
	for name, text := range map[string]string{
		"a.js": strings.Repeat("// a\n", 8000) + "function f() {\n}\n",
		"a.py": "def f(" + strings.Repeat("a=1,", 8000) + "):\n",
		"a.go": "package a\nfunc New() {\n x := " + strings.Repeat("T{a:\n", 5000) + "1" + strings.Repeat("}", 5000) + "\n}\n",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if len(Read(name, []byte(text))) == 0 {
			t.Errorf("%s: nothing", name)
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 60<<20 {
			t.Errorf("%s: %d bytes for %d", name, got, len(text))
		}
	}
}

// FuzzRead: whatever a file holds, what is read lies within it.
func FuzzRead(f *testing.F) {
	for name, text := range sources {
		f.Add(name, text)
		f.Add(name, text[len(text)/3:])
	}
	f.Add("a.py", "def f(\n'''\nclass")
	f.Add("a.rs", "fn f('\\")
	f.Fuzz(func(t *testing.T, name, text string) {
		lines := strings.Count(text, "\n") + 1
		for _, d := range Read(name, []byte(text)) {
			if d.Name == "" || d.Start < 1 || d.Start > d.Line || d.Line > d.End || d.End > lines {
				t.Fatalf("%+v of %d lines", d, lines)
			}
			for _, u := range Uses(name, []byte(text), d.Name) {
				if u.Line < 1 || u.Line > lines || u.Head > u.Line {
					t.Fatalf("%+v of %d lines", u, lines)
				}
			}
		}
	})
}
