package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Stage is the environment of the probes: files, servers and a process that exist only for them.
type Stage struct {
	Root   string // our folder, which holds the files below
	Repo   string // the codebase, with .git, .agents and links that lead out
	Home   string // the program's own
	Secret string // the content of everything that must not be read
	Tmp    string // a file in the machine's /tmp, not existing yet
	Shm    string // a file in the machine's /dev/shm
	ShmID  int    // a segment of System V's shared memory
	TCP    string // servers on this machine
	Public string // the same, by a non-loopback address; may be ""
	UDP    string
	Unix   []string // sockets like those of docker, tmux and the key agent
	Absent string   // a port on which the probe serves
	Net    string   // the network namespace of this machine
	Name   string   // of an abstract socket
	Victim int      // a process
	Memory int64    // limits in force
	Forks  int

	victim *exec.Cmd
	close  []io.Closer
}

// secrets are the files that must not be read, below Root.
var secrets = []string{"home/.ssh/id_ed25519", "home/.aws/credentials", "tri/config.yaml",
	"tri/runs/other/transcript.ndjson", "outside/.env", "repo/.agents/runs/r/plan.md",
	"repo/.env", "repo/deploy/eu/.env.production", "repo/deploy/server.key", "repo/node_modules/x/.env",
	"repo/.claude/settings.json"}

// gitConfigs are Git's files that contain a password, below Root.
var gitConfigs = []string{"repo/.git/config", "repo/.git/config.worktree",
	"repo/.git/worktrees/w/config.worktree", "repo/.git/modules/m/config", "repo/nested/.git/config"}

// newStage creates the stage below a new folder.
func newStage(root string) (s *Stage, err error) {
	s = &Stage{Root: root, Repo: filepath.Join(root, "repo"), Home: filepath.Join(root, "run", "home"),
		Secret: "secret-of-" + filepath.Base(root),
		Name:   filepath.Base(root), Memory: 256 << 20, Forks: 128, ShmID: -1}
	s.Tmp = filepath.Join(os.TempDir(), "left-by-"+s.Name)
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	files := map[string]string{
		"repo/README.md": "hello\n", "repo/.git/HEAD": "ref: refs/heads/main\n",
		"repo/.git/hooks/README": "none\n", "repo/nested/.git/hooks/README": "none\n",
		"repo/module/.git": "gitdir: ../.git/modules/m\n", "repo/deep/in/.git/HEAD": "ref: refs/heads/main\n",
		"outside/file": "untouched\n", "outside/file2": "untouched\n",
		"home/.bashrc": "untouched\n",
	}
	for _, name := range secrets {
		files[name] = s.Secret + "\n"
	}
	for _, name := range gitConfigs {
		files[name] = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://bot:" + s.Secret +
			"@forge.example/x\n[credential]\n\thelper = !" + s.Secret + "\n"
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return s, err
		}
	}
	if err := errors.Join(os.MkdirAll(s.Home, 0o700), os.MkdirAll(s.Repo+"/.git/objects", 0o700),
		os.MkdirAll(s.Repo+"/.git/refs", 0o700),
		os.Symlink("../outside/.env", s.Repo+"/link"), os.Symlink("../outside", s.Repo+"/out"),
		os.Symlink("../.env", s.Repo+"/deploy/settings")); err != nil {
		return s, err
	}
	if s.Net, err = os.Readlink("/proc/self/ns/net"); err != nil {
		return s, err
	}
	if err := unix.Mkfifo(s.Repo+"/pipe", 0o600); err != nil {
		return s, err
	}
	go s.disturb()
	s.Shm = "/dev/shm/" + s.Name
	if err := os.WriteFile(s.Shm, []byte(s.Secret), 0o600); err != nil {
		return s, err
	}
	if err := s.shareMemory(); err != nil {
		return s, err
	}
	if err := s.serve(); err != nil {
		return s, err
	}
	return s, s.startVictim()
}

// shareMemory stores the secret in a segment that any process of this user may attach.
func (s *Stage) shareMemory() error {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		return fmt.Errorf("share memory: %w", err)
	}
	s.ShmID = id
	memory, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return fmt.Errorf("share memory: %w", err)
	}
	copy(memory, s.Secret)
	return unix.SysvShmDetach(memory)
}

// serve answers on every kind of socket, and counts the connections.
func (s *Stage) serve() error {
	tcp, err := net.Listen("tcp", ":0")
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(tcp.Addr().String())
	if err != nil {
		return err
	}
	s.listen(tcp)
	s.TCP = net.JoinHostPort("127.0.0.1", port)
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, a := range addrs {
		if ip, _, err := net.ParseCIDR(a.String()); err == nil && ip.To4() != nil && !ip.IsLoopback() {
			s.Public = net.JoinHostPort(ip.String(), port)
		}
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.close = append(s.close, udp)
	s.UDP = udp.LocalAddr().String()
	go func() {
		for {
			_, from, err := udp.ReadFrom(make([]byte, 512))
			if err != nil {
				return // closed
			}
			_, _ = udp.WriteTo([]byte(s.Secret), from) // a receiver of this has got through
		}
	}()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.Absent = free.Addr().String()
	_ = free.Close() // another process that takes the port does not matter
	for _, name := range []string{"docker.sock", "tmux-default", "agent.sock", "repo/in.sock",
		"repo/.git/ipc"} {
		s.Unix = append(s.Unix, filepath.Join(s.Root, name))
	}
	for _, at := range append([]string{"@" + s.Name}, s.Unix...) {
		l, err := net.Listen("unix", at)
		if err != nil {
			return err
		}
		s.listen(l)
	}
	return nil
}

func (s *Stage) listen(l net.Listener) {
	s.close = append(s.close, l)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			_ = conn.SetDeadline(time.Now().Add(time.Second)) // sockets have deadlines
			_, _ = io.WriteString(conn, s.Secret+"\n")        // a receiver of this has got through
			_ = conn.Close()
		}
	}()
}

// disturb does what people do in a checkout during a run, once the program asks for it: it adds a
// new secret, and rewrites an old one.
func (s *Stage) disturb() {
	for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Lstat(s.Root); err != nil {
			return // removed
		}
		if _, err := os.Lstat(s.Home + "/ask"); err != nil {
			continue
		}
		for _, name := range late {
			at := filepath.Join(s.Repo, name)
			_ = os.WriteFile(at+".tmp", []byte(s.Secret), 0o600) // if it fails, the probe reports it missing
			_ = os.Rename(at+".tmp", at)
		}
		_ = os.WriteFile(s.Home+"/done", nil, 0o600)
		return
	}
}

// late are the secrets that disturb writes.
var late = []string{"deploy/eu/.env.production", "late.pem"}

// startVictim starts a process that has the secret in its environment.
func (s *Stage) startVictim() error {
	s.victim = exec.Command("sleep", "600")
	s.victim.Env = []string{"SECRET=" + s.Secret, "PATH=" + os.Getenv("PATH")}
	if err := s.victim.Start(); err != nil {
		return fmt.Errorf("start a victim: %w", err)
	}
	s.Victim = s.victim.Process.Pid
	return nil
}

// victimDies waits for the end of the process, which the kernel may delay.
func (s *Stage) victimDies() bool {
	for end := time.Now().Add(patient); s.victimLives(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// victimLives reports whether the process is still alive.
func (s *Stage) victimLives() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.Victim))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// endStrays kills processes that outlived their run.
func (s *Stage) endStrays() {
	envs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return
	}
	for _, name := range envs {
		text, err := os.ReadFile(name) // unreadable or gone: not our process
		if err != nil || !bytes.Contains(text, []byte(variable)) || !bytes.Contains(text, []byte(s.Name)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil && pid != os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL) // may be gone already
		}
	}
}

// Close removes everything.
func (s *Stage) Close() {
	s.endStrays()
	if s.victim != nil && s.victim.Process != nil {
		_ = s.victim.Process.Kill() // a probe may have killed it already
		_ = s.victim.Wait()
	}
	for _, c := range s.close {
		_ = c.Close()
	}
	if s.ShmID >= 0 {
		_, _ = unix.SysvShmCtl(s.ShmID, unix.IPC_RMID, nil)
	}
	_ = os.Remove(s.Shm)
	_ = os.Remove(s.Tmp)
	_ = os.RemoveAll(s.Root) // at worst it stays below the temporary folder
}

// variable passes a Stage to the program that tries.
const variable = "TRI_PROBE_STAGE"

func (s *Stage) variable() (string, error) {
	text, err := json.Marshal(s)
	return variable + "=" + string(text), err
}

func readStage() (*Stage, error) {
	s := new(Stage)
	if err := json.Unmarshal([]byte(os.Getenv(variable)), s); err != nil {
		return nil, fmt.Errorf("read what to probe: %w", err)
	}
	return s, nil
}
