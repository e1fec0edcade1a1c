package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/chat/local"
)

// The files of a home that this package reads, each owned by the stage that it names.
const (
	eventsName     = config.EventsName
	classifiedName = config.ClassifiedName
	beatName       = "watch.json"
	markName       = "dispatch.json"
)

// beat is the heartbeat that tri-watch writes.
type beat struct {
	PID            int     `json:"pid"`
	Source         string  `json:"source"`
	StartedAt      string  `json:"started_at"`
	ConnectedSince *string `json:"connected_since"`
	LastEventAt    *string `json:"last_event_at"`
	BeatAt         string  `json:"beat_at"`
}

// silent is the maximum age of a heartbeat, which is written every 10 s.
const silent = 35 * time.Second

// watchSays returns where tri-watch logs: to a file, if it is a supervised stage.
func (x *checker) watchSays() string {
	const name = "logs/watch.log"
	if x.home.Exists(name) {
		return "tail " + x.home.Path(name)
	}
	return "look at its stderr"
}

func (x *checker) watching(pid int) {
	var b beat
	line, err := x.home.ReadFile(beatName)
	if err == nil {
		err = json.Unmarshal(line, &b)
	}
	at, bad := time.Parse(time.RFC3339, b.BeatAt)
	switch age := x.Now().Sub(at); {
	case err != nil || bad != nil:
		x.warn("tri-watch", "wait a moment, or "+x.watchSays(),
			"runs, process %d, and no heartbeat can be read", pid)
	case age > silent:
		x.fail("tri-watch", x.watchSays()+"; end it and start it again",
			"runs, process %d, and has been silent for %s", pid, ago(age))
	case b.ConnectedSince == nil && x.Now().Sub(text.ParseTime(b.StartedAt)) < soon:
		x.ok("tri-watch", "runs, process %d, and connects to %s", pid, b.Source)
	case b.ConnectedSince == nil:
		x.fail("tri-watch", x.watchSays()+"; it tries again by itself",
			"runs, process %d, and is not connected to %s", pid, b.Source)
	default:
		last := "no event yet"
		if b.LastEventAt != nil {
			if at, err := time.Parse(time.RFC3339, *b.LastEventAt); err == nil {
				last = "last event " + ago(x.Now().Sub(at)) + " ago"
			}
		}
		if !x.deaf(&b) {
			x.ok("tri-watch", "runs, process %d, connected to %s, %s", pid, b.Source, last)
		}
	}
}

func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

var errCut = sysexit.With(sysexit.Data, errors.New("the log was cut or replaced"))

// deaf looks for a failure that the heartbeat does not show: a room of the local chat with new text
// but no event of it.
func (x *checker) deaf(b *beat) bool {
	if x.config == nil || x.config.Chat.Local.Dir == "" {
		return false
	}
	rooms, err := os.ReadDir(x.config.Chat.Local.Dir)
	if err != nil {
		return false // its own row reports it
	}
	heard := text.ParseTime(b.StartedAt)
	if b.LastEventAt != nil && text.ParseTime(*b.LastEventAt).After(heard) {
		heard = text.ParseTime(*b.LastEventAt)
	}
	for _, room := range rooms {
		info, err := room.Info()
		if err != nil || !info.Mode().IsRegular() || local.RoomName(room.Name()) != nil {
			continue
		}
		if at := info.ModTime(); at.Sub(heard) > slowToHear && x.Now().Sub(at) > slowToHear {
			x.warn("tri-watch", x.watchSays()+"; end it and start it again",
				"room %q was written to %s ago, and no event has come since", room.Name(),
				ago(x.Now().Sub(at)))
			return true
		}
	}
	return false
}

// slowToHear is how long a message may take from its room to the log.
const slowToHear = 20 * time.Second

// serving requests the web page. Any response counts, even if access is denied.
func (x *checker) serving(pid int) {
	const name = "tri-approve web"
	cfg := x.config
	if cfg == nil {
		cfg = config.Default()
	}
	network, address := "tcp", cfg.Gate.Web.Listen
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", path
	}
	if strings.HasSuffix(address, ":0") {
		x.ok(name, "runs, process %d, on a port that it says at its start", pid)
		return
	}
	client := http.Client{
		Timeout: timeout,
		Transport: &http.Transport{DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, address)
			}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Head("http://localhost/")
	if err != nil {
		x.fail(name, "tri-supervise restart web, or end it and start it again",
			"runs, process %d, and gives no answer: %v", pid, err)
		return
	}
	answer.Body.Close()
	x.ok(name, "runs, process %d, and answers at %s", pid, cfg.Gate.Web.Listen)
}
