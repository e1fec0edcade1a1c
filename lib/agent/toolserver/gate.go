package toolserver

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/sandbox"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// Log is the file in the run's folder with a line for each refused tool call, and for each server
// or tool that is left out.
const Log = "tools.ndjson"

// Limits on an agent's program.
const (
	maxConns = 8    // concurrent, per server: programs start a server more than once
	maxLog   = 1000 // lines
)

// Gate offers the tool servers of one run to the agent's program.
type Gate struct {
	Servers []config.Server                   // as the program sees them: a command each, no keys
	Doors   []func(context.Context, net.Conn) // for its sandbox; see sandbox.Spec

	at    Place
	ctx   context.Context
	stop  context.CancelFunc
	group sync.WaitGroup
	dir   string // holds the sockets, if there is no sandbox

	mu   sync.Mutex
	told int
}

// Open makes the gate of a run. It connects to a server when the program asks for it. Close ends
// the gate, and so does ctx.
func Open(ctx context.Context, at Place, servers []config.Server) (*Gate, error) {
	g := &Gate{at: at}
	g.ctx, g.stop = context.WithCancel(ctx)
	helper := sandbox.HelperAt
	if at.Sandbox == "off" && len(servers) > 0 {
		var err error
		if helper, err = sandbox.FindHelper(); err == nil {
			g.dir, err = os.MkdirTemp("", "tri-tools-") // a short name: socket paths are limited
		}
		if err != nil {
			g.Close()
			return nil, sysexit.Errorf(sysexit.Unavailable, "offer tool servers: %w", err)
		}
	}
	for i, s := range servers {
		door, address := g.door(s), sandbox.ForwardAt(i)
		if g.dir != "" {
			address = filepath.Join(g.dir, strconv.Itoa(i))
			if err := g.listen(address, door); err != nil {
				g.Close()
				return nil, sysexit.Errorf(sysexit.IO, "offer tool server %s: %w", s.Name, err)
			}
		} else {
			g.Doors = append(g.Doors, door)
		}
		g.Servers = append(g.Servers, config.Server{Name: s.Name, Tools: s.Tools,
			Command: []string{helper, sandbox.ForwardArg, address}})
	}
	return g, nil
}

// Close ends every session with a server.
func (g *Gate) Close() {
	g.stop()
	g.group.Wait()
	if g.dir != "" {
		_ = os.RemoveAll(g.dir) // at worst it stays in the temporary folder
	}
}

// listen answers at a socket, in a folder that only our user can access.
func (g *Gate) listen(path string, answer func(context.Context, net.Conn)) error {
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	context.AfterFunc(g.ctx, func() { _ = l.Close() })
	g.group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			g.group.Go(func() {
				defer conn.Close()
				answer(g.ctx, conn)
			})
		}
	})
	return nil
}

// door answers connections to a server, each with a session of its own.
func (g *Gate) door(s config.Server) func(context.Context, net.Conn) {
	slots := make(chan struct{}, maxConns)
	return func(ctx context.Context, conn net.Conn) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			g.log(s.Name, "", "too many calls at once")
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(g.ctx, cancel)()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		t := &talk{gate: g, server: s, conn: conn, calls: map[string]context.CancelFunc{}}
		if err := t.run(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
			g.log(s.Name, "", err.Error())
		}
	}
}

// log adds a line to the run's log. Its texts are untrusted.
func (g *Gate) log(server, tool, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.told++; g.at.Dir == "" || g.told > maxLog {
		return
	}
	err := sandbox.AppendRecord(filepath.Join(g.at.Dir, Log), struct {
		Time   string `json:"time"`
		Server string `json:"server"`
		Tool   string `json:"tool,omitempty"`
		Why    string `json:"why"`
	}{text.Timestamp(time.Now()), server, text.CutBytes(tool, maxWords),
		text.CutBytes(why, maxWords)})
	if err != nil {
		slog.Warn("a tool was refused, and cannot be logged", "server", server, "err", err)
	}
}
