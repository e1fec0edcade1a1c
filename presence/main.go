// Tri-presence writes who is typing in Telegram, as a person's account hears it.
package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/presence/account"
)

func main() { cli.Main(program) }

var flags = []cli.Flag{
	cli.Home("write who is typing below"), cli.Config(),
	cli.String("session", "keep the login in `FILE` (default ~/.config/tri/telegram.session)"),
}

var program = cli.Program{
	Name:  "tri-presence",
	Usage: "write who is typing in Telegram, heard by a person's account",
	Args:  "command",
	Help: `Telegram can ban an account that a program uses: take one made for this, and a
member of the watched groups. A bot does not hear who types; this account does,
so that tri-dispatch waits for the rest of a question. It sends nothing.

  export TELEGRAM_API_ID=12345 TELEGRAM_API_HASH=…   # of my.telegram.org
  tri-presence login      # once, at a terminal: phone number, code, password
  tri-presence run`,
	Commands: []cli.Program{
		{Name: "login", Usage: "log in at a terminal, and keep the session", Flags: flags, Run: login},
		{Name: "run", Usage: "write who is typing, until it is stopped", Flags: flags, Run: run, Stays: true},
	},
}

func login(c *cli.Call) error {
	o, err := options(c)
	if err != nil {
		return err
	}
	if o.APIHash = os.Getenv("TELEGRAM_API_HASH"); o.APIHash == "" {
		return sysexit.Hint(sysexit.With(sysexit.Config, errors.New("TELEGRAM_API_HASH is not set")),
			"https://my.telegram.org gives it, beside the api_id")
	}
	return account.Login(c.Context, o, c.In)
}

func run(c *cli.Call) error {
	o, err := options(c)
	if err != nil {
		return err
	}
	return account.Run(c.Context, o)
}

func options(c *cli.Call) (o account.Options, err error) {
	home, cfg, err := config.Home(durable.OpenHome, c.String("home"), c.String("config"))
	if err != nil {
		return o, err
	}
	o = account.Options{Home: home, Chats: cfg.Chats(config.PlatformTelegram), Session: c.String("session"),
		Say: c.Say}
	if o.APIID, err = strconv.Atoi(os.Getenv("TELEGRAM_API_ID")); err != nil || o.APIID <= 0 {
		return o, sysexit.Hint(sysexit.With(sysexit.Config, errors.New("TELEGRAM_API_ID is not a number")),
			"https://my.telegram.org, API development tools, gives an api_id")
	}
	if o.Session == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return o, sysexit.With(sysexit.Config, err)
		}
		o.Session = filepath.Join(dir, "tri", "telegram.session")
	}
	return o, nil
}
