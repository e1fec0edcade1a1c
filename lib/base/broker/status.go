package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tri/lib/base/config"
	"tri/lib/base/text"
)

// Status is what a machine sees of the server.
type Status struct {
	URL     string      `json:"url"`
	Version string      `json:"version"`
	Tri     string      `json:"tri"` // this program's version
	RTTMs   float64     `json:"rtt_ms"`
	SkewS   float64     `json:"skew_s"` // how far the server's clock is ahead of this one
	Logs    []LogStatus `json:"logs"`
	Waiting uint64      `json:"waiting"` // jobs in the queue
	Running int         `json:"running"` // jobs that workers have
	Workers []Presence  `json:"workers"`
}

// Presence is what a worker says of itself.
type Presence struct {
	Worker    string   `json:"worker"`
	Version   string   `json:"version"`
	Slots     int      `json:"slots"`
	Running   int      `json:"running"`
	Codebases []string `json:"codebases"`
}

// LogStatus compares a stream with the file of the same log here.
type LogStatus struct {
	Name   string `json:"name"`
	Lines  uint64 `json:"lines"`            // in the stream
	Bytes  int64  `json:"bytes"`            // of the log that the stream has seen
	Here   int64  `json:"here"`             // size of the file here
	Leader string `json:"leader,omitempty"` // of a cluster; "" for none or a single server
}

// MaxSkew is the difference of clocks that is worth a warning: budgets and expiries go by days and hours.
const MaxSkew = 5 * time.Second

// StatusOf asks the server of a configuration. file returns the path of a log here.
func StatusOf(ctx context.Context, cfg config.Nats, file func(name string) string) (*Status, error) {
	c, err := Open(ctx, cfg, "tri-nats status", nil)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	rtt, err := c.nc.RTT()
	if err != nil {
		return nil, Explain(err)
	}
	s := &Status{URL: c.nc.ConnectedUrlRedacted(), Version: c.nc.ConnectedServerVersion(),
		RTTMs: float64(rtt.Microseconds()) / 1000, Logs: []LogStatus{}, Workers: []Presence{}}
	for _, name := range logs {
		info, err := c.info(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.SkewS = time.Until(info.TimeStamp).Seconds()
		l := LogStatus{Name: name, Lines: info.State.LastSeq}
		if info.Cluster != nil {
			l.Leader = info.Cluster.Leader
		}
		if info.State.Msgs > 0 {
			last, err := c.get(ctx, name, info.State.LastSeq)
			if err != nil {
				return nil, err
			}
			l.Bytes = last.offset + int64(len(last.data))
		}
		if st, err := os.Stat(file(name)); err == nil {
			l.Here = st.Size()
		}
		s.Logs = append(s.Logs, l)
	}
	cons, err := c.js.Consumer(ctx, workStream, workers)
	if err == nil {
		info := cons.CachedInfo()
		s.Waiting, s.Running = info.NumPending, info.NumAckPending
	}
	all, err := c.Who(ctx, 300*time.Millisecond)
	for _, w := range all {
		var p Presence
		if json.Unmarshal(w, &p) == nil {
			s.Workers = append(s.Workers, p)
		}
	}
	return s, err
}

// Print writes a status for people, or as one JSON object.
func (s *Status) Print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(s)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "server %s at %s, %.1f ms away\n", s.Version, s.URL, s.RTTMs)
	if math.Abs(s.SkewS) > MaxSkew.Seconds() {
		fmt.Fprintf(&b, "its clock differs by %.0f s: set both by NTP\n", s.SkewS)
	}
	for _, l := range s.Logs {
		fmt.Fprintf(&b, "log %-18s %8d lines %10d bytes, here %d\n", l.Name, l.Lines, l.Bytes, l.Here)
	}
	fmt.Fprintf(&b, "jobs: %d waiting, %d running\n", s.Waiting, s.Running)
	for _, p := range s.Workers {
		fmt.Fprintf(&b, "worker %s: %d of %d slots busy, version %s, codebases: %s\n", text.Line(p.Worker, 40),
			p.Running, p.Slots, text.Line(p.Version, 20), text.Line(strings.Join(p.Codebases, " "), 80))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
