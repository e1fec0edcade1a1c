package sample

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
)

// rules returns a filter that looks for one word and those of the configuration.
func rules(cfg *config.Config) (Rules, error) {
	return func(ctx context.Context, in stream.Input, out io.Writer) error {
		_, err := stream.Each(ctx, in, func(rec ndjson.Record) error {
			line, class := string(rec.Bytes), "ambient"
			for _, w := range append([]string{"why"}, cfg.Classifier.QuestionKeywords...) {
				if strings.Contains(line, w) {
					class = "actionable"
				}
			}
			line = strings.Replace(line, `"classification":"ambient"`, `"classification":"`+class+`"`, 1)
			_, err := io.WriteString(out, line+"\n")
			return err
		})
		return err
	}, nil
}

// home returns a home with a history of n messages: every tenth is a question that the filter does
// not recognize.
func home(t *testing.T, n int) *durable.Home {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	var b strings.Builder
	for i := range n {
		text := fmt.Sprintf("it works on host %d \x1b[31m", i)
		if i%10 == 0 {
			text = fmt.Sprintf("please have a look at %d", i)
		}
		at := time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC).Format(time.RFC3339)
		fmt.Fprintf(&b, `{"platform":"local","chat_id":"dev","chat_name":"dev","message_id":"%d","create_time":"%s","msg_type":"text","content":%q,"thread_id":null,"sender":{"id":"ana","type":"user"},"mentions":[],"classification":"ambient","classifier_version":"v1","reasons":[]}`+"\n",
			i, at, strings.ReplaceAll(text, "\x1b", "<ESC>"))
	}
	if err := h.Replace(classifiedLog,
		[]byte(strings.ReplaceAll(b.String(), "<ESC>", `\u001b`))); err != nil {
		t.Fatal(err)
	}
	return h
}

func desk(t *testing.T, h *durable.Home, in io.Reader) (*Sampler, *bytes.Buffer) {
	shown := new(bytes.Buffer)
	return &Sampler{Home: h, Config: config.Default(), Compile: rules, Words: func(s string) string {
		return s
	}, In: in, Show: shown, Say: t.Logf, By: "ana", Now: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}, shown
}

// TestInterval compares the bounds with those computed from the definition over every K, and with
// known ones.
func TestInterval(t *testing.T) {
	for _, tt := range []struct{ x, m, n, low, high int }{
		{0, 100, 100, 0, 0}, {3, 100, 100, 3, 3}, {0, 1, 2, 0, 1}, {1, 1, 1, 1, 1},
		{0, 100, 1_000_000, 0, 36211}, // Clopper and Pearson: 3.62%
	} {
		low, high := interval(tt.x, tt.m, tt.n)
		if low != tt.low || math.Abs(float64(high-tt.high)) > 50 || tt.n < 1000 && high != tt.high {
			t.Errorf("%d of %d of %d: %d to %d, want %d to %d", tt.x, tt.m, tt.n, low, high, tt.low, tt.high)
		}
	}
	for n := 1; n <= 12; n++ {
		for m := 1; m <= n; m++ {
			for x := 0; x <= m; x++ {
				first, last := -1, -1
				for k := x; k <= n-m+x; k++ {
					if upper(x, m, k, n) >= 0.025 && lower(x, m, k, n) >= 0.025 {
						if first < 0 {
							first = k
						}
						last = k
					}
				}
				if low, high := interval(x, m, n); low != first || high != last {
					t.Errorf("%d of %d of %d: %d to %d, want %d to %d", x, m, n, low, high, first, last)
				}
			}
		}
	}
}

// TestCoverage: for any true value, at least 95 of 100 intervals contain it.
func TestCoverage(t *testing.T) {
	const n, m = 60, 20
	for k := 0; k <= n; k += 7 {
		covered := 0.0
		for x := 0; x <= m; x++ {
			if low, high := interval(x, m, n); low <= k && k <= high {
				covered += chance(x, m, k, n)
			}
		}
		if covered < 0.95 {
			t.Errorf("%d misses are covered with %.3f", k, covered)
		}
	}
}

// TestAudit: labels persist over sessions, an undo revokes the last one, and only labels in the
// order of drawing count.
func TestAudit(t *testing.T) {
	h := home(t, 200)
	order := Order{Sample: 5, Seed: 7, Ask: true}
	d, shown := desk(t, h, strings.NewReader("n\nwhat?\ny\nu\nn\nq\n"))
	e, err := d.Audit(context.Background(), order)
	if err != nil || e.Labels != 2 || e.Misses != 0 || e.Frame != 200 || e.Sample != 5 {
		t.Fatalf("%+v, %v\n%s", e, err, shown)
	}
	if strings.ContainsRune(shown.String(), 0x1b) {
		t.Error("chat text reached the terminal raw")
	}
	d, shown = desk(t, h, strings.NewReader("y\ns\nn\n"))
	e, err = d.Audit(context.Background(), Order{Sample: 5, Ask: true}) // the seed is that of the labels
	if err != nil || e.Seed != 7 || e.Labels != 4 || e.Misses != 1 || e.Skipped != 1 || e.Rate != 25 {
		t.Errorf("%+v, %v", e, err)
	}
	if !strings.Contains(shown.String(), "3 of 5") || strings.Contains(shown.String(), "2 of 5") {
		t.Errorf("it does not go on where it was left:\n%s", shown)
	}
	for _, line := range strings.Split(strings.TrimSuffix(shown.String(), "\n"), "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("%d characters wide: %s", len([]rune(line)), line)
		}
	}
	labels, err := readLabels(h)
	if err != nil || len(labels.all) != 5 {
		t.Errorf("%d labels, %v", len(labels.all), err)
	}
}

// TestAuditActionable: what was taken for actionable is sampled by itself, and its labels are not misses of
// the dropped messages.
func TestAuditActionable(t *testing.T) {
	h := home(t, 20)
	log, err := h.ReadFile(classifiedLog)
	if err != nil {
		t.Fatal(err)
	}
	asked := strings.Replace(string(log), `"classification":"ambient"`, `"classification":"actionable"`, 4)
	if err := h.Replace(classifiedLog, []byte(asked)); err != nil {
		t.Fatal(err)
	}
	d, _ := desk(t, h, strings.NewReader("y\nn\nn\ny\n"))
	e, err := d.Audit(context.Background(), Order{Sample: 9, Seed: 7, Ask: true, Actionable: true})
	if err != nil || e.Of != "actionable" || e.Frame != 4 || e.Labels != 4 || e.Misses != 2 || e.Target != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := labelled(h, time.Time{}); err != nil || e.Labels != 0 || e.Misses != 0 {
		t.Errorf("they count as dropped: %+v, %v", e, err)
	}
	e, err = d.Audit(context.Background(), Order{Sample: 99})
	if err != nil || e.Frame != 16 || e.Labels != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestWindow: the sample is drawn from the newest part of the history only.
func TestWindow(t *testing.T) {
	d, _ := desk(t, home(t, 200), nil)
	e, err := d.Audit(context.Background(), Order{Sample: 500, Seed: 1, Window: 99 * time.Minute})
	if err != nil || e.Frame != 100 || e.Sample != 100 || e.High != 100 {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestFuture: a message of a later time neither moves the window nor is in it.
func TestFuture(t *testing.T) {
	h := home(t, 200)
	log, err := h.ReadFile(classifiedLog)
	if err != nil {
		t.Fatal(err)
	}
	late := strings.Replace(string(log), `"create_time":"2026-01-01T00:00:00Z"`,
		`"create_time":"2033-01-01T00:00:00Z"`, 1)
	if err := h.Replace(classifiedLog, []byte(late)); err != nil {
		t.Fatal(err)
	}
	d, _ := desk(t, h, nil)
	for window, want := range map[time.Duration]int{99 * time.Minute: 100, 999 * time.Minute: 199, 0: 200} {
		e, err := d.Audit(context.Background(), Order{Sample: 500, Seed: 1, Window: window})
		if err != nil || e.Frame != want {
			t.Errorf("%s: %+v, %v", window, e, err)
		}
	}
}

// TestFewLabels: a few labels meet no threshold, also where there are no more messages.
func TestFewLabels(t *testing.T) {
	for _, tt := range []struct {
		labels, misses, skipped, frame int
		high                           float64
		says                           string
	}{
		{1, 0, 0, 1, 0, "open: at least 20"},
		{1, 0, 0, 1000, 97.5, "open: at least 20"},
		{30, 0, 5, 35, 0, "met"},
		{30, 0, 0, 20, 11.6, "open: the interval"},
		{500, 0, 0, 5000, 0.7, "met"},
		{60, 9, 0, 5000, 26.5, "missed"},
	} {
		e := Estimate{Labels: tt.labels, Misses: tt.misses, Skipped: tt.skipped, Frame: tt.frame, Of: Nothing,
			Target: target}
		if e.judge(); math.Abs(e.High-tt.high) > 0.1 || !strings.Contains(e.verdict(), tt.says) {
			t.Errorf("%+v: high %.2f\n%s", tt, e.High, e.verdict())
		}
	}
}

// TestPeriod: only the labels of the last seven days count.
func TestPeriod(t *testing.T) {
	h := home(t, 1)
	d, _ := desk(t, h, nil)
	var b strings.Builder
	for i, days := range []int{1, 6, 8, 13} {
		fmt.Fprintf(&b, `{"at":%q,"message_id":"%d","classification":"ambient","label":"dropped","frame":99}`+"\n",
			d.Now.AddDate(0, 0, -days).Format(time.RFC3339), i)
	}
	if err := h.Replace(File, []byte(b.String())); err != nil {
		t.Fatal(err)
	}
	if _, _, _, n, err := d.Missed(); err != nil || n != 2 {
		t.Errorf("%d labels, %v", n, err)
	}
}

// TestKeys: on a terminal one key is an answer, and the terminal is restored.
func TestKeys(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	was, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := desk(t, home(t, 50), slave)
	shown := &person{keys: "yn\x03", to: master}
	d.Show = shown
	e, err := d.Audit(context.Background(), Order{Sample: 5, Seed: 7, Ask: true})
	if err != nil || e.Labels != 2 || e.Misses != 1 {
		t.Errorf("%+v, %v\n%s", e, err, &shown.seen)
	}
	now, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil || *now != *was {
		t.Errorf("the terminal is left as %+v, was %+v, %v", now, was, err)
	}
}

// person presses one key whenever something is shown.
type person struct {
	keys string
	to   io.Writer
	seen bytes.Buffer
}

func (p *person) Write(b []byte) (int, error) {
	p.seen.Write(b)
	if p.keys == "" {
		return 0, io.ErrClosedPipe
	}
	if _, err := p.to.Write([]byte(p.keys[:1])); err != nil {
		return 0, err
	}
	p.keys = p.keys[1:]
	return len(b), nil
}

func TestDiff(t *testing.T) {
	h := home(t, 40)
	d, _ := desk(t, h, nil)
	cfg := config.Default()
	cfg.Classifier.QuestionKeywords = []string{"have a look"}
	before, _ := rules(d.Config)
	after, _ := rules(cfg)
	in, err := history(h, nil, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	diff, err := compare(context.Background(), in, before, after, 3, d.Words)
	if err != nil || diff.Messages != 40 || diff.Counts["ambient→actionable"] != 4 ||
		len(diff.Changes) != 3 || diff.Changes[2].MessageID != "30" {
		t.Errorf("%+v, %v", diff, err)
	}
	var out bytes.Buffer
	if err := diff.Print(&out); err == nil || err.Error() != "" ||
		!strings.Contains(out.String(), "and 1 older") {
		t.Errorf("%v\n%s", err, &out)
	}
	if same, err := compare(context.Background(), in, before, before, 3, d.Words); err != nil ||
		same.Changed() != 0 || same.Print(io.Discard) != nil {
		t.Errorf("%+v, %v", same, err)
	}
}

// TestBrokenLabels: an incomplete last line is ignored, any other is reported.
func TestBrokenLabels(t *testing.T) {
	h := home(t, 1)
	for text, ok := range map[string]bool{"": true, "{}\n{\"at": true, "{}\nx\n": false} {
		if err := h.Replace(File, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := readLabels(h); (err == nil) != ok ||
			err != nil && !strings.HasPrefix(err.Error(), "labels.ndjson:2:") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
