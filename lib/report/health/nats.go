package health

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os/exec"
	"slices"
	"strings"

	"tri/lib/base/config"
	"tri/lib/base/text"
)

// natsStatus is what tri-nats status --json prints, as far as it is judged here.
type natsStatus struct {
	URL     string  `json:"url"`
	Version string  `json:"version"`
	Tri     string  `json:"tri"`
	RTTMs   float64 `json:"rtt_ms"`
	SkewS   float64 `json:"skew_s"`
	Waiting int     `json:"waiting"`
	Running int     `json:"running"`
	Logs    []struct {
		Name  string `json:"name"`
		Bytes int64  `json:"bytes"`
		Here  int64  `json:"here"`
	} `json:"logs"`
	Workers []struct {
		Worker  string `json:"worker"`
		Version string `json:"version"`
		Slots   int    `json:"slots"`
		Running int    `json:"running"`
	} `json:"workers"`
}

// How far a log and its stream may differ, in bytes, and clocks, in seconds.
const (
	natsBehind = 64 << 10
	natsSkew   = 5
)

// nats asks tri-nats about the server, since no other program connects to it.
func (x *checker) nats(ctx context.Context) {
	if x.config.Nats.URL == "" {
		return
	}
	const name = "nats"
	program, err := lookPath("tri-nats")
	if err != nil {
		x.failed(name, "install it, or remove nats.url from the configuration", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "status", "--json", "--home", x.home.Dir())
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	var s natsStatus
	if err = cmd.Run(); err == nil {
		err = json.Unmarshal(out.Bytes(), &s)
	}
	if err != nil {
		x.fail(name, "nats-server -c nats-server.conf, in the folder that tri-nats init made",
			"%s (%v)", strings.TrimSpace(said.String()), err)
		return
	}
	x.ok(name, "server %s at %s, %.1f ms away; %d jobs wait, %d run", s.Version, s.URL, s.RTTMs, s.Waiting,
		s.Running)
	if math.Abs(s.SkewS) > natsSkew {
		x.warn("nats clock", "set both by NTP: budgets and expiries go by the clock",
			"the server's clock differs by %.0f s", s.SkewS)
	}
	x.natsLogs(&s)
	x.natsWorkers(&s)
}

// natsLogs compares the streams with the logs here.
func (x *checker) natsLogs(s *natsStatus) {
	total := int64(0)
	for _, l := range s.Logs {
		total += l.Bytes
		if l.Here-l.Bytes > natsBehind {
			x.warn("nats "+l.Name, "tri up sends it (tri-nats pub all); tri logs nats says why not",
				"the server lacks %d bytes of it", l.Here-l.Bytes)
		}
		if l.Here > 0 && l.Bytes-l.Here > natsBehind {
			x.warn("nats "+l.Name, "tri-nats sub all fetches it", "this machine lacks %d bytes of it",
				l.Bytes-l.Here)
		}
	}
	x.ok("nats logs", "%d logs, %d bytes", len(s.Logs), total)
}

// natsWorkers judges who takes jobs.
func (x *checker) natsWorkers(s *natsStatus) {
	const name, fix = "nats workers", "tri-nats work, on another machine"
	used := slices.ContainsFunc([]config.Agent{x.config.Investigator, x.config.Validator},
		func(a config.Agent) bool { return a.On == config.Queue })
	switch {
	case len(s.Workers) == 0 && s.Waiting > 0:
		x.fail(name, fix, "none answers, and %d jobs wait", s.Waiting)
	case len(s.Workers) == 0 && used:
		x.warn(name, fix, "none answers")
	}
	for _, w := range s.Workers {
		who := name[:len(name)-1] + " " + text.Line(w.Worker, 40)
		if w.Version != s.Tri {
			x.warn(who, "install the same version everywhere", "has version %s, this machine %s",
				text.Line(w.Version, 40), text.Line(s.Tri, 40))
			continue
		}
		x.ok(who, "%d of %d slots busy", w.Running, w.Slots)
	}
}
