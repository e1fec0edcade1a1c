package account

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/gotd/td/tg"
	"github.com/gotd/td/tgerr"
	"github.com/gotd/td/tgtest"

	"tri/lib/base/sysexit"
)

// Telegram's prime for passwords, by https://core.telegram.org/api/srp.
const prime = "c71caeb9c6b1c9048e6c522f70f13f73980d40238e3e21c14934d037563d930f" +
	"48198a0aa7c14058229493d22530f4dbfa336f6e0ac925139543aed44cce7c37" +
	"20fd51f69458705ac68cd4fe6b6b13abdc9746512969328454f18faf8c595f64" +
	"2477fe96bb2a941d5bcd1d4ac8cc49880708fa9b378e3c4f3a9060bee67cf9a4" +
	"a4a695811051907e162753b56b0f6b410dba74d8a84b2a14b3144e0ef1284754" +
	"fd17ed950d5965b4b9dd46582db1178d169c6bc465b0d6ff9ca3928fef5b9ae4" +
	"e418fc15e83ebea0f87fa9ff5eed70050ded2849f47bf959d956850ce929851f" +
	"0d8115f635b105ee2e4e15d04b2454bf6f4fadf034b10403119cd8e3b92fcc5b"

const phone, code, password = "+9996612345", "31415", "correct horse"

// logsIn has the server accept the phone number, the code and any password.
func (s *server) logsIn(t *testing.T) {
	t.Helper()
	p, err := hex.DecodeString(prime)
	if err != nil {
		t.Fatal(err)
	}
	random := make([]byte, 256)
	rand.Read(random)
	random[0] = 1 // less than the prime
	s.logIn(false)
	s.HandleFunc(tg.AuthSendCodeRequestTypeID, func(_ *tgtest.Server, r *tgtest.Request) error {
		var in tg.AuthSendCodeRequest
		if err := in.Decode(r.Buf); err != nil || in.PhoneNumber != phone || in.APIHash != "hash" {
			return tgerr.New(400, "PHONE_NUMBER_INVALID")
		}
		return s.SendResult(r, &tg.AuthSentCode{Type: &tg.AuthSentCodeTypeApp{Length: 5}, PhoneCodeHash: "h"})
	})
	s.HandleFunc(tg.AuthSignInRequestTypeID, func(_ *tgtest.Server, r *tgtest.Request) error {
		var in tg.AuthSignInRequest
		if err := in.Decode(r.Buf); err != nil || in.PhoneCode != code || in.PhoneCodeHash != "h" {
			return tgerr.New(400, "PHONE_CODE_INVALID")
		}
		return tgerr.New(401, "SESSION_PASSWORD_NEEDED")
	})
	s.HandleFunc(tg.AccountGetPasswordRequestTypeID, func(_ *tgtest.Server, r *tgtest.Request) error {
		answer := &tg.AccountPassword{HasPassword: true, SRPID: 1, SRPB: random, SecureRandom: random,
			NewAlgo: &tg.PasswordKdfAlgoUnknown{}, NewSecureAlgo: &tg.SecurePasswordKdfAlgoUnknown{}}
		answer.SetCurrentAlgo(&tg.PasswordKdfAlgoSHA256SHA256PBKDF2HMACSHA512iter100000SHA256ModPow{
			Salt1: random[:8], Salt2: random[:16], G: 3, P: p})
		return s.SendResult(r, answer)
	})
	s.HandleFunc(tg.AuthCheckPasswordRequestTypeID, func(_ *tgtest.Server, r *tgtest.Request) error {
		if bytes.Contains(r.Buf.Buf, []byte(password)) {
			t.Error("the password itself was sent")
		}
		s.logIn(true)
		return s.SendResult(r, &tg.AuthAuthorization{User: self})
	})
}

// screen collects what a terminal shows.
type screen struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// TestLogin: a login takes number, code and password at a terminal alone; the terminal, the log and what is
// said show none of them; the session that is left is that of a run. A wrong code is refused.
func TestLogin(t *testing.T) {
	s := newServer(t)
	s.logsIn(t)
	o, said := s.at(t)
	logged := new(screen)
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer slog.SetDefault(before)

	if err := Login(t.Context(), o, strings.NewReader(phone+"\n")); status(err) != sysexit.Usage {
		t.Errorf("from a pipe: %v", err)
	}
	shown := new(screen)
	login := func(lines ...string) error {
		t.Helper()
		keys, terminal, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer terminal.Close()
		defer keys.Close()
		go io.Copy(shown, keys)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		asked := 0
		o.Say = func(format string, args ...any) {
			said.say(format, args...)
			if strings.Contains(format, "not shown") && asked < len(lines) {
				line := lines[asked]
				asked++
				time.AfterFunc(300*time.Millisecond, func() { // the echo is off by then
					if _, err := keys.WriteString(line + "\n"); err != nil {
						t.Error(err)
					}
				})
			}
		}
		return Login(ctx, o, terminal)
	}
	if err := login(phone, "00000"); status(err) != sysexit.NoPerm ||
		!strings.Contains(err.Error(), "PHONE_CODE_INVALID") {
		t.Errorf("a wrong code: %v", err)
	}
	if err := login(phone, code, password); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "logged in as user 777") {
		t.Errorf("it said %q", said)
	}
	text, err := os.ReadFile(o.Session)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{phone, code, password, phone[1:]} {
		for where, all := range map[string]string{"terminal": shown.String(), "log": logged.String(),
			"messages": said.String(), "session": string(text)} {
			if strings.Contains(all, secret) {
				t.Errorf("%s shows %q: %q", where, secret, all)
			}
		}
	}
	for _, name := range s.got() {
		if strings.HasPrefix(name, "auth.signUp") {
			t.Error("an account was made")
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	said.wait(t, "listens as user 777")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want := map[string]bool{}
	for _, name := range wire() {
		want[name] = true
	}
	for _, name := range s.got() {
		if !want[name] {
			t.Errorf("%s reached the server", name)
		}
	}
}
