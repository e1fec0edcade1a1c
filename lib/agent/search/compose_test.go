package search

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/judge/claims"
	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
	"tri/lib/record/draft"
)

var mixed = map[string]string{
	"pool/pool.go": `package pool

import "errors"

// ErrFull is returned when every connection is in use.
var ErrFull = errors.New("pool: full")

// Mode is how connections are chosen.
type Mode int

const (
	Newest Mode = iota
	Oldest
)

// Pool holds connections.
type Pool struct {
	// MaxOpen is how many connections are open at once.
	MaxOpen int
	mode    Mode
}

// New returns an empty pool.
func New() (*Pool, error) {
	return &Pool{MaxOpen: DefaultMaxOpen}, nil
}

const DefaultMaxOpen = 12

func (p *Pool) takeOne() error {
	if p.MaxOpen == 0 {
		return ErrFull
	}
	return nil
}

func run(p *Pool) error { return p.takeOne() }
`,
	"pool/pool_test.go": "package pool\n\nfunc helper(p *Pool) { p.takeOne() }\n\nconst DefaultMaxOpen2 = 99\n",
	"pool/limits.go": `package pool

// Limits are of a day.
type Limits struct {
	RunsPerDay int ` + "`yaml:\"runs\"`" + ` // default 50

	RunsPerPersonPerDay int // default 10
}

const MaxRunWords = 300

func fill(l *Limits) {
	if l.RunsPerDay == 0 {
		l.RunsPerDay = usual() + 1
	}
}
`,
	"web/client.py": `RETRY_LIMIT = 3


def fetch_page(url, timeout_s=30):
    """Fetches a page.

    :return: the text of the page
    """
    if not url:
        raise ValueError("the address is missing")
    return load(url)
`,
	"web/frames.py": `class Backlog(Setting):
    name = "backlog"
    cli = ["--backlog"]
    default = 2048


class Frame(object):
    def __init__(self, cfg):
        self.backlog = cfg.backlog
        if self.backlog > MAX_BACKLOG:
            self.backlog = MAX_BACKLOG

    def parse(self, data):
        if len(data) > 9:
            raise FrameError("too long")
        if data:
            x = 1
        elif self.closed:
            x = 2
        else:
            raise FrameError("empty")
        return parse_it(data, x)

    def parse_it(self):
` + strings.Repeat("        self.go()\n", 70) + `        parse_all(1)
        parse_all(2)


def parse_all(n):
    pass


class FrameError(Exception):
    pass
`,
	"web/State.java": `public class State {
    public enum Mood { GOOD, BAD, MIXED }

    public static final String PROP_IDLE = "org.state.idleWaitTime";

    /**
     * <p>
     * Sets it, i.e. <code>idle</code>. More.
     */
    void setIdleWaitTime(long n) { idle = n; }

    /**
     * <p>
     * How many {@link State} threads run, as <code>int</code>.
     */
    void setThreadCount(int n) { count = n; }
}
`,
	"web/put.ts": "export function put(wait: boolean, forced: boolean) {\n  if (wait) {\n    log.debug('Queue has no \"free\" place yet');\n" +
		"  } else if (forced) {\n    throw new Error(stats(\"queue has no \\\"free\\\" place\"));\n  }\n}\n",
	"web/err.rs": "impl Error {\n    fn no_host() -> Error {\n        Error::new(User::NoHost)\n    }\n\n" +
		"    fn text(&self) -> &str {\n        match self.kind {\n            Kind::User(User::NoHost) => \"the host is missing\",\n" +
		"        }\n    }\n}\n\nfn dial(a: Addr) -> Result<Conn> {\n    if a.empty() {\n" +
		"        debug!(\"The host is missing: {:?}\", a);\n        return Err(Error::no_host());\n    }\n    Ok(a)\n}\n",
	"web/ciphers.py": "class Offer:\n    _offered_ciphers = (\n        \"aes-ctr\",\n        \"des-cbc\",\n    )\n\n\n" +
		"class reply_code(Enum):\n    FINE = 0\n    BAD = 1\n",
	"web/dialer.py": "class Dialer:\n    def __init__(self):\n        self.linger_s = 15\n\n\n" +
		"def dial(linger_s=None):\n    pass\n\n\n# Holds it.\n#\n# Default is 90 seconds.\ndef hold_idle(n):\n    pass\n",
	"web/Sizes.java": "public class Sizes {\n    public static final int DEFAULT_RUNS = 3;\n    private int runsEach = Sizes.DEFAULT_RUNS;\n}\n",
	"web/Other.java": "public class Other {\n    private int runsEach = DEFAULT_RUNS;\n}\n",
	"web/lost.ts": "export interface LostError extends Error {}\n\n/** A connection is gone. */\n" +
		"export const LostError: Ctor = createErrorClass(\n  (_super) => init);\n",
	"web/queue.ts": "export class Queue {\n  concurrency = 4;\n\n  start(): boolean {\n    return true;\n  }\n}\n\n" +
		"export type Colour = \"red\" |\n  \"blue\";\n",
}

// described are asked about in words that are mostly not those of their names.
var described = map[string]string{
	"net/server.go": `package net

import "errors"

// Config is given by the user.
type Config struct {
	// ShutdownTimeout specifies how long workers may finish their jobs when the server stops.
	//
	// If unset or zero, a default of 8 seconds is used.
	ShutdownTimeout int
}

const defaultMaxTries = 25

func copied(m message) *Info { return newInfo(m) }

func newInfo(m message) *Info {
	return &Info{MaxTries: m.Tries}
}

// ErrLost is returned when a lease ends without a heartbeat.
var ErrLost = errors.New("net: the lease was lost")

type broker interface{ ListLost() error }

type Disk struct{}

func (d *Disk) ListLost() error { return nil }

func (w *worker) sweep() { w.broker.ListLost() }

// Dial opens a connection. Its schemes are those of a URL.
func Dial(uri string) error {
	switch scheme(uri) {
	case "tcp", "tls":
		return nil
	case "unix":
		return nil
	}
	return errors.New("net: unknown scheme")
}
`,
	"net/policy.py": `class LostKeyPolicy:
    pass


class AcceptPolicy(LostKeyPolicy):
    pass


class RefusePolicy(LostKeyPolicy):
    """
    Refuses what the accept policy takes.
    """


def fetch(name, pause=None):
    """
    Fetch a page.

    :param str name: of the page
    :param float pause: seconds between two tries
        (default: ` + "``0.5``" + `)
    """
    return load(name, pause)
`,
	"net/builder.rs": `impl Builder {
    /// Whether the server writes the Date header by itself.
    ///
    /// Default is true.
    pub fn auto_date_header(&mut self, enabled: bool) -> &mut Self {
        self.date_header = enabled;
        self
    }
}
`,
	"net/Limits.java": "class Limits {\n    static final int DEFAULT_OPEN = 8;\n    private int open = DEFAULT_OPEN;\n}\n",
	"net/Other.java":  "class Other {\n    static final int DEFAULT_OPEN = -1;\n}\n",
	"src/timers.js":   "module.exports = {\n  setQuickTimeout (fn) {\n    return fn()\n  }\n}\n",
	"src/connect.js": "const connect = quick\n  ? (fn) => {\n      timers.setQuickTimeout(fn)\n    }\n  : noop\n\n" +
		"function dial (fn) {\n  timers.setQuickTimeout(fn)\n}\n",
	"fuzz/limits.go": "package fuzz\n\nfunc init() {\n\tlimits(&Limits{MostDisks: 10})\n}\n",
	"net/State.java": "enum JobState {\n" + strings.Repeat("    // It waits.\n", 20) + "    WAITING,\n" +
		strings.Repeat("    // It runs.\n", 40) + "    RUNNING\n}\n",
	"src/call.ts": "export interface Options {\n  'net.ping_time_ms'?: number;\n}\n\n" +
		"export class Call {\n  mostBytes = 64;\n  constructor(options: Options) {\n    this.pingTime = options['net.ping_time_ms'] ?? 900;\n" +
		"    if (this.size > this.mostBytes) {\n      this.fail('Got more than may be sent (' + this.size + ')');\n    }\n  }\n\n" +
		"  flushAll() {}\n  send() {\n    this.flushAll();\n  }\n}\n",
	"src/wait.ts":   "export const DEFAULT_PING_WAIT = 7;\n\nexport class Waiter {\n  pingWait = DEFAULT_PING_WAIT;\n}\n",
	"net/worker.go": "package net\n\ntype worker struct {\n\t// lostWorkers is the number of lost workers.\n\tlostWorkers int\n}\n",
	"build/call.js": "class Call {\n  flushAll() {}\n  send() {\n    this.flushAll();\n  }\n}\n//# sourceMappingURL=call.js.map\n",
}

// TestDescribed asks what is described, or named in another form than where the answer is.
func TestDescribed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, described)
	c := New()
	for _, tt := range []struct{ question, say string }{
		{"on stop of the server, how long may workers finish their jobs if we set nothing",
			"`ShutdownTimeout`, says its comment: \"If unset or zero, a default of 8 seconds is used\" (net/server.go:9)."},
		{"how often is it tried if I never pass MaxTries?", "`defaultMaxTries` is `25` (net/server.go:13)."},
		{"after how long is the wait for a ping over", "`DEFAULT_PING_WAIT` is `7` (src/wait.ts:1)."},
		{"Got more than may be sent", "\"Got more than may be sent\" comes from `Call.constructor` (src/call.ts:10), only if `this.size > this.mostBytes`. `mostBytes` is `64` by default (src/call.ts:6)."},
		{"where is the disk for pages of a book", ""},
		{"how do I set the number of lost workers", ""},
		{"what is the default pause?", "`pause` of `fetch` defaults to `None` (net/policy.py:15). `fetch.pause`, says its comment: \"seconds between two tries (default: '0.5')\" (net/policy.py:20-21)."},
		{"how do I turn off the automatic date header",
			"By `auto_date_header`: \"Whether the server writes the Date header by itself\" (net/builder.rs:5)."},
		{"default open of Limits?", "`open` is `DEFAULT_OPEN` by default (net/Limits.java:3), and `DEFAULT_OPEN` is `8` (net/Limits.java:2)."},
		{"what is the default ping time?", "`pingTime` is `900` by default (src/call.ts:8)."},
		{"what states can a job be in?", "The values of `JobState` are `WAITING`, `RUNNING` (net/State.java:22-63)."},
		{"JobState - which ones exist?", "The values of `JobState` are `WAITING`, `RUNNING` (net/State.java:22-63)."},
		{"which lost key policies come with it?", "`LostKeyPolicy` is extended by `AcceptPolicy` (net/policy.py:5) and `RefusePolicy` (net/policy.py:9)."},
		{"which schemes does Dial take?", "`Dial` has cases for `tcp`, `tls`, `unix` (net/server.go:34-37)."},
		{"who calls ListLost?", "`ListLost` is called in `worker.sweep` (net/server.go:30)."},
		{"who calls flushAll?", "`flushAll` is called in `Call.send` (src/call.ts:16)."},
		{"the log has net: the lease was lost, why ???", "`ErrLost` is `errors.New(\"net: the lease was lost\")` (net/server.go:22): \"ErrLost is returned when a lease ends without a heartbeat\"."},
		{"what does \"Got more than may be sent (9 of 4)\" mean?", "\"Got more than may be sent\" comes from `Call.constructor` (src/call.ts:10), only if `this.size > this.mostBytes`. `mostBytes` is `64` by default (src/call.ts:6)."},
		{"who calls ListLostSoon?", ""},
		{"who calls setQuickTimeout?", "`setQuickTimeout` is called in src/connect.js:3 and `dial` (src/connect.js:8)."},
		{"how large may a PAUSE be?", ""},
		{"what is the default of MostDisks?", ""},
		{"error: refuses what the accept policy takes", ""},
	} {
		ret, err := ask(t, c, dir, tt.question)
		say := ""
		if err == nil && strings.HasPrefix(ret.SummaryForOrchestrator, "Composed") {
			say, _, _ = strings.Cut(ret.DraftReply, "\n")
			proved(t, dir, tt.question, ret)
		}
		if say != tt.say {
			t.Errorf("%q:\n%s\nwant\n%s", tt.question, say, tt.say)
		}
	}
}

// TestCompose asks questions of the common kinds. Each answer is one sentence, and code finds all of it in
// the lines that it quotes.
func TestCompose(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, mixed)
	c := New()
	for _, tt := range []struct{ question, say string }{
		{"where is takeOne defined?", "`takeOne` is in pool/pool.go:30."},
		{"what does the type Mode do?", "`Mode`: \"Mode is how connections are chosen\" (pool/pool.go:9)."},
		{"can somebody explain what fetch_page does", "`fetch_page`: \"Fetches a page\" (web/client.py:4)."},
		{"what is takeOne for?", "`takeOne` is in pool/pool.go:30."},
		{"where's the code for takeOne", "`takeOne` is in pool/pool.go:30."},
		{"in which file do I find takeOne?", "`takeOne` is in pool/pool.go:30."},
		{"where do we use takeOne?", "`takeOne` is called in `run` (pool/pool.go:37)."},
		{"which value does RETRY_LIMIT have if I set nothing?", "`RETRY_LIMIT` is `3` (web/client.py:1)."},
		{"default timeout s?", "`timeout_s` of `fetch_page` defaults to `30` (web/client.py:4)."},
		{"I'm getting LostError, what does that mean?",
			"`LostError` is `createErrorClass( (_super) => init)` (web/lost.ts:4): \"A connection is gone\"."},
		{"hey, where do we find the Pool struct", "`Pool` is in pool/pool.go:17."},
		{"What is the default of MaxOpen?",
			"`MaxOpen` is `DefaultMaxOpen` by default (pool/pool.go:25), and `DefaultMaxOpen` is `12` (pool/pool.go:28)."},
		{"what's the default of timeout_s?",
			"`timeout_s` of `fetch_page` defaults to `30` (web/client.py:4)."},
		{"what is the retry limit set to?", "`RETRY_LIMIT` is `3` (web/client.py:1)."},
		{"what is the value of DefaultMaxOpen?", "`DefaultMaxOpen` is `12` (pool/pool.go:28)."},
		{"what's the DefaultMaxOpen value", "`DefaultMaxOpen` is `12` (pool/pool.go:28)."},
		{"which number is DefaultMaxOpen?", "`DefaultMaxOpen` is `12` (pool/pool.go:28)."},
		{"anyone know which number DefaultMaxOpen is", "`DefaultMaxOpen` is `12` (pool/pool.go:28)."},
		{"DefaultMaxOpen itu berapa ya?", "`DefaultMaxOpen` adalah `12` (pool/pool.go:28)."},
		{"wie hoch ist DefaultMaxOpen?", "`DefaultMaxOpen` is `12` (pool/pool.go:28)."},
		{"cuál es el valor de DefaultMaxOpen?", "`DefaultMaxOpen` is `12` (pool/pool.go:28)."},
		{"wo ist takeOne definiert?", "`takeOne` is in pool/pool.go:30."},
		{"berapa DefaultMaxOpen?", "`DefaultMaxOpen` adalah `12` (pool/pool.go:28)."},
		{"di mana takeOne didefinisikan?", "`takeOne` ada di pool/pool.go:30."},
		{"what is the default of runs per day?",
			"`RunsPerDay`, says its comment: \"default 50\" (pool/limits.go:5)."},
		{"how many runs per day are allowed by default?",
			"`RunsPerDay`, says its comment: \"default 50\" (pool/limits.go:5)."},
		{"how many runs does one person get per day?",
			"`RunsPerPersonPerDay`, says its comment: \"default 10\" (pool/limits.go:7)."},
		{"How many words may a run have?", "`MaxRunWords` is `300` (pool/limits.go:10)."},
		{"which values can Mode have?", "The values of `Mode` are `Newest`, `Oldest` (pool/pool.go:12-13)."},
		{"who calls takeOne?", "`takeOne` is called in `run` (pool/pool.go:37)."},
		{"what does ErrFull mean?",
			"`ErrFull` is `errors.New(\"pool: full\")` (pool/pool.go:6): \"ErrFull is returned when every connection is in use\". It is given by `Pool.takeOne` (pool/pool.go:32), only if `p.MaxOpen == 0`."},
		{"where does \"the address is missing\" come from?",
			"\"the address is missing\" comes from `fetch_page` (web/client.py:10), only if `not url`."},
		{"how do I set MaxOpen?",
			"By the field `MaxOpen` of `Pool`: \"MaxOpen is how many connections are open at once\" (pool/pool.go:19)."},
		{"which values does Mood have?", "The values of `Mood` are `GOOD`, `BAD`, `MIXED` (web/State.java:2)."},
		{"which colours are there?", "The values of `Colour` are `red`, `blue` (web/queue.ts:9-10)."},
		{"what is the default of backlog?", "`backlog` is `2048` by default (web/frames.py:2)."},
		{"how do I set the backlog per worker?",
			"By the setting `backlog`, or the option `--backlog` (web/frames.py:2)."},
		{"how do we change the idle wait time of the scheduler?",
			"By the property `org.state.idleWaitTime` (web/State.java:4)."},
		{"how is the thread count configured?",
			"By `State.setThreadCount`: \"How many State threads run, as int\" (web/State.java:16)."},
		{"where's parse_all being used?",
			"`parse_all` is called in `Frame.parse_it` (web/frames.py:95, web/frames.py:96)."},
		{"when does FrameError happen?",
			"`FrameError` is in web/frames.py:103. It is given by `Frame.parse` (web/frames.py:15), only if `len(data) > 9`; `Frame.parse` (web/frames.py:21), unless `data` or `self.closed`."},
		{"we get 'queue has no \"free\" place'. why?",
			"\"queue has no \"free\" place\" comes from `put` (web/put.ts:5), only if `forced`, unless `wait`."},
		{"when does \"the host is missing\" happen?",
			"\"the host is missing\" comes from `Error.text` (web/err.rs:8). `NoHost` is made in `Error.no_host` (web/err.rs:3), which is called in `dial` (web/err.rs:16), only if `a.empty()`."},
		{"what is the default linger_s?", "`linger_s` is `15` by default (web/dialer.py:3). " +
			"Without a value, `linger_s` of `dial` is `None` (web/dialer.py:6)."},
		{"what is the default of hold_idle?",
			"`hold_idle`, says its comment: \"Default is 90 seconds\" (web/dialer.py:12)."},
		{"what is the default of runsEach?", "`runsEach` is `DEFAULT_RUNS` by default (web/Other.java:2), and `DEFAULT_RUNS` is `3` (web/Sizes.java:2)."},
		{"which ciphers do we offer by default (_offered_ciphers)?",
			"`_offered_ciphers` lists `aes-ctr`, `des-cbc` (web/ciphers.py:3-4)."},
		{"what return codes can reply_code take in the web?",
			"The values of `reply_code` are `FINE`, `BAD` (web/ciphers.py:9-10)."},
		{"a user sees \"pool: full\" while connecting, when does that happen?",
			"`ErrFull` is `errors.New(\"pool: full\")` (pool/pool.go:6): \"ErrFull is returned when every connection is in use\". It is given by `Pool.takeOne` (pool/pool.go:32), only if `p.MaxOpen == 0`."},
		{"what does New return", "`New` returns `(*Pool, error)` (pool/pool.go:24)."},
		{"what does fetch_page return?",
			"`fetch_page` returns, says its comment: \"the text of the page\" (web/client.py:7)."},
		{"what does start() return?", "`start` returns `boolean` (web/queue.ts:4)."},
	} {
		ret, err := ask(t, c, dir, tt.question)
		if err != nil {
			t.Errorf("%q: %v", tt.question, err)
			continue
		}
		if say, _, _ := strings.Cut(ret.DraftReply, "\n"); say != tt.say {
			t.Errorf("%q:\n%s\nwant\n%s", tt.question, say, tt.say)
			continue
		}
		proved(t, dir, tt.question, ret)
	}
}

// proved checks a return as a validator does.
func proved(t *testing.T, dir, question string, ret *draft.Return) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	repo, err := evidence.OpenRepo(dir)
	if err != nil {
		t.Fatal(err)
	}
	refs := evidence.Stamp(root, repo, ret.EvidenceRefs, time.Now())
	found := evidence.ResolveAll(root, repo, refs)
	for i, f := range found {
		if f.Result != evidence.Supports && f.Result != evidence.Uncheckable || !f.Stands {
			t.Errorf("%q: %s: %s %s", question, refs[i].Ref, f.Result, f.Note)
		}
	}
	s := safety.Sources{Texts: []string{question}, Refs: refs, Exists: func(p string) bool {
		return evidence.Exists(dir, p)
	}}
	for _, named := range claims.Trace(ret.DraftReply, s, found) {
		if named.To == "" {
			t.Errorf("%q names %q", question, named.Text)
		}
	}
	if ps := safety.Check(ret.DraftReply, s); len(ps) > 0 {
		t.Errorf("%q: %v", question, ps)
	}
	for _, p := range evidence.FromText("the draft",
		safety.OwnWords(ret.DraftReply, s, true)).Account(found) {
		if !p.About || p.Contrary != "" {
			t.Errorf("%q: %q is not covered: %s %s", question, p.Text, p.Coverage, p.Contrary)
		}
	}
}

// TestCallersInGo: the name of another package is no use of this one, and a value may be a shift. A file may
// end its lines with CR LF.
func TestCallersInGo(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"box/box.go": strings.ReplaceAll(`package box

import "os"

const MaxBox = 1 << 10

// Open opens a box.
func Open(name string) error { return nil }

func fill() {
	os.Open("a")
	Open("b")
}

func last() { Open("c") }
`, "\n", "\r\n"), "main.go": "package main\n\nimport \"here/box\"\n\nfunc run() {\n\tbox.Open(\"a\")\n}\n"})
	c := New()
	for question, want := range map[string]string{
		"who calls Open?":              "`Open` is called in `fill` (box/box.go:12), `last` (box/box.go:15) and `run` (main.go:6).",
		"what is the value of MaxBox?": "`MaxBox` is `1 << 10` (box/box.go:5).",
	} {
		ret, err := ask(t, c, dir, question)
		if err != nil {
			t.Fatal(err)
		}
		if say, _, _ := strings.Cut(ret.DraftReply, "\n"); say != want {
			t.Errorf("%q:\n%s\nwant\n%s", question, say, want)
		}
		proved(t, dir, question, ret)
	}
}

// TestNotComposed asks what the code does not prove in one sentence: there is a list of places, or nothing.
func TestNotComposed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, mixed)
	write(t, dir, map[string]string{
		"a/twice.go": "package a\n\nfunc twiceNamed() int { return 1 }\n",
		"b/twice.go": "package b\n\nfunc twiceNamed() string { return \"\" }\n",
		"many.go": "package m\n\nfunc drawAll() {}\n" + "\nfunc (T) drawAll() {}\n" +
			"\nfunc (U) drawAll() {}\n\nfunc (V) drawAll() {}\n\nfunc (W) drawAll() {}\n",
		"url.go": "package u\n\n// url builds a URL of values.\nfunc url(values int) string { return \"\" }\n",
		"keys.go": "package k\n\n// Token " + "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB" +
			"\nconst ApiToken = 1\n",
	})
	c := New()
	for _, q := range []string{
		"what does twiceNamed return?", "where is the pool?", "what does Mode return?",
		"where is takeOne defined and what is the default of MaxOpen? and who calls it?",
		"di mana takeOne dan apa itu dipakai untuk apa?", "where is takeTwo defined?",
		"how do I set url variables in a test?", "what is the default of ApiToken?", "what does drawAll do?",
	} {
		ret, err := ask(t, c, dir, q)
		if err == nil && (ret.Confidence == draft.High || strings.HasPrefix(ret.DraftReply, "By `")) {
			t.Errorf("%q: %s", q, ret.DraftReply)
		}
		if err != nil && !errors.Is(err, agent.ErrNothing) {
			t.Errorf("%q: %v", q, err)
		}
	}
}

// TestListQuotesEnd: a short place of a list is quoted to its end, with the answer; a longer one has
// dots where it continues.
func TestListQuotesEnd(t *testing.T) {
	dir := t.TempDir()
	page := ".Sh EXIT STATUS\nThe exit status says how the filter ends.\n.Bl\n.It 0\nDone.\n.It 1\nThe answer is no.\n" +
		".It 64\nUsage error.\n.It 65\nSome records were refused.\n.El\n"
	long := "# Colours of the lamp\n\nThe lamp has colours.\n" + strings.Repeat("It shines in the dark hall.\n", 40)
	write(t, dir, map[string]string{"man/filter.1": page, "lamp.md": long})
	for question, want := range map[string]string{
		"how does the exit status of the filter end?": "Some records were refused.\n.El\n```",
		"which colours has the lamp?":                 "\n...\n```",
	} {
		ret, err := ask(t, New(), dir, question)
		if err != nil {
			t.Errorf("%q: %v", question, err)
		} else if !strings.Contains(ret.DraftReply, want) {
			t.Errorf("%q:\n%s", question, ret.DraftReply)
		}
	}
}

// TestQuotesEnd: a long declaration is quoted by the beginning of its comment and its head, with dots for
// the rest.
func TestQuotesEnd(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"long.go": "package l\n\n// Long is long.\n//" +
		strings.Repeat("\n// more", 9) + "\nfunc Long(\n\ta int,\n) error {" +
		strings.Repeat("\n\tprintln(1)", 30) + "\n\treturn nil\n}\n"})
	ret, err := ask(t, New(), dir, "where is Long()?")
	if err != nil {
		t.Fatal(err)
	}
	if want := "// Long is long.\n//\n...\nfunc Long(\n\ta int,\n) error {\n..."; ret.EvidenceRefs[0].Quote != want {
		t.Errorf("%q", ret.EvidenceRefs[0].Quote)
	}
	proved(t, dir, "where is Long()?", ret)
}
