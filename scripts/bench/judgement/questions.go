package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// codebase is one that questions are asked about, pinned so that their lines stay.
type codebase struct {
	name, lang string
	module     string // path@version, in the cache of Go modules
	commit     string // of this repository
	dir        string // on this machine, or below where fetch was run
	fetch      string // shell command that writes it to the current folder
	alone      bool   // it is asked its own questions alone, none of strangers
}

// How releases of other languages are fetched: by npm, as Debian's binary packages, and as its sources.
const (
	npm    = "npm pack -s %s >/dev/null && tar xzf *.tgz --strip-components=1"
	deb    = "apt-get download -qq %s && dpkg-deb -x *.deb x && mv x/%s/* . && rm -r x *.deb"
	lists  = `mkdir -p l/partial && echo "deb%s http://deb.debian.org/debian %s main" >s && o="-o Dir::Etc::sourcelist=$PWD/s -o Dir::Etc::sourceparts=- -o Dir::State::lists=$PWD/l -o APT::Sandbox::User=root" && apt-get -qq $o update && `
	source = `apt-get -qq $o source --download-only %s && tar xf *.orig.tar.* --strip-components=1 && rm -r l s *.orig.tar.*`
	binary = `apt-get -qq $o download %s && dpkg-deb -x *.deb x && mv x/%s/* . && rm -r l s x *.deb`
)

// onlySources keeps of a package of npm what people write.
const onlySources = " && find . -mindepth 1 -maxdepth 1 ! -name src ! -name README.md ! -name package.json -exec rm -r {} +"

// celery fetches its package and the sources of its documentation.
var celery = fmt.Sprintf(lists, "", "bookworm") + `apt-get -qq $o download python3-celery python-celery-doc && ` +
	`for f in *.deb; do dpkg-deb -x $f x; done && mv x/usr/lib/python3/dist-packages/celery . && ` +
	`mv x/usr/share/doc/python-celery-doc/html/_sources docs && rm -r l s x *.deb && ` +
	`find docs -name '*.rst.txt' | while read f; do mv $f ${f%.txt}; done`

// debian fetches the sources of a package of a release of Debian.
func debian(release, name string) string {
	return fmt.Sprintf(lists+source, "-src", release, name)
}

var codebases = []codebase{
	{name: "cli", lang: "Go", module: "github.com/urfave/cli/v2@v2.27.7"},
	{name: "gojq", lang: "Go", module: "github.com/itchyny/gojq@v0.12.20"},
	{name: "tail", lang: "Go", module: "github.com/nxadm/tail@v1.4.11"},
	{name: "websocket", lang: "Go", module: "github.com/coder/websocket@v1.8.15"},
	{name: "tri", lang: "Go", commit: "9c9f60da40853921a757bab5a214aeab44ef0453"},
	{name: "viper", lang: "Go", module: "github.com/spf13/viper@v1.18.2"},
	{name: "mux", lang: "Go", module: "github.com/gorilla/mux@v1.8.1"},
	{name: "cobra", lang: "Go", module: "github.com/spf13/cobra@v1.8.1"},
	{name: "chi", lang: "Go", module: "github.com/go-chi/chi/v5@v5.2.1"},
	{name: "fsnotify", lang: "Go", module: "github.com/fsnotify/fsnotify@v1.9.0", alone: true},
	{name: "bbolt", lang: "Go", module: "go.etcd.io/bbolt@v1.4.3", alone: true},
	{name: "mysql", lang: "Go", module: "github.com/go-sql-driver/mysql@v1.9.3", alone: true},
	{name: "zap", lang: "Go", module: "go.uber.org/zap@v1.27.1", alone: true},
	{name: "certmagic", lang: "Go", module: "github.com/caddyserver/certmagic@v0.25.2", alone: true},
	{name: "bubbletea", lang: "Go", module: "charm.land/bubbletea/v2@v2.0.9", alone: true},
	{name: "echo", lang: "Go", module: "github.com/labstack/echo/v4@v4.13.4", alone: true},
	{name: "memberlist", lang: "Go", module: "github.com/hashicorp/memberlist@v0.5.1", alone: true},
	{name: "resty", lang: "Go", module: "github.com/go-resty/resty/v2@v2.16.0", alone: true},
	{name: "goquery", lang: "Go", module: "github.com/PuerkitoBio/goquery@v1.10.0", alone: true},
	{name: "minio-go", lang: "Go", module: "github.com/minio/minio-go/v7@v7.0.80", alone: true},
	{name: "river", lang: "Go", module: "github.com/riverqueue/river@v0.14.3", alone: true},
	{name: "starlette", lang: "Python", fetch: bookworm("python3-starlette", "usr/lib/python3/dist-packages"),
		alone: true}, // 0.26.1
	{name: "celery", lang: "Python", fetch: celery, alone: true}, // 5.2.6
	{name: "zod", lang: "TypeScript", fetch: fmt.Sprintf(npm, "zod@4.0.0") + onlySources, alone: true},
	{name: "trpc-server", lang: "TypeScript", fetch: fmt.Sprintf(npm, "@trpc/server@11.0.0") + onlySources,
		alone: true},
	{name: "rustls", lang: "Rust", fetch: bookworm("librust-rustls-dev", "usr/share/cargo/registry/rustls-*"),
		alone: true}, // 0.20.8
	{name: "tracing-subscriber", lang: "Rust", fetch: bookworm("librust-tracing-subscriber-dev",
		"usr/share/cargo/registry/tracing-subscriber-*"), alone: true}, // 0.3.16
	{name: "okhttp", lang: "Java", fetch: debian("bookworm", "libokhttp-java"), alone: true},     // 3.13.1
	{name: "jackson-core", lang: "Java", fetch: debian("bookworm", "jackson-core"), alone: true}, // 2.14.1
	{name: "winston", lang: "JavaScript", fetch: fmt.Sprintf(npm, "winston@3.17.0"), alone: true},
	{name: "nodemailer", lang: "JavaScript", fetch: fmt.Sprintf(npm, "nodemailer@6.9.16"), alone: true},
	{name: "knex", lang: "JavaScript", fetch: fmt.Sprintf(npm, "knex@3.1.0"), alone: true},
	{name: "mongodb", lang: "TypeScript", fetch: fmt.Sprintf(npm, "mongodb@6.10.0"), alone: true},
	// 5.0.0
	{name: "notify", lang: "Rust", fetch: fmt.Sprintf(deb, "librust-notify-dev", "usr/share/cargo/registry/*"),
		alone: true},
	// 2.3.1
	{name: "url", lang: "Rust", fetch: fmt.Sprintf(deb, "librust-url-dev", "usr/share/cargo/registry/*"),
		alone: true},
	// 0.6.3
	{name: "zip", lang: "Rust", fetch: fmt.Sprintf(deb, "librust-zip-dev", "usr/share/cargo/registry/*"),
		alone: true},
	// 4.6.2
	{name: "picocli", lang: "Java", fetch: debian("bookworm", "picocli"), alone: true},
	// 4.5.14
	{name: "httpclient", lang: "Java", fetch: debian("bookworm", "httpcomponents-client"), alone: true},
	// 8.1.3
	{name: "click", lang: "Python", fetch: fmt.Sprintf(deb, "python3-click", "usr/lib/python3/dist-packages"),
		alone: true},
	// 3.18.0
	{name: "marshmallow", lang: "Python",
		fetch: fmt.Sprintf(deb, "python3-marshmallow", "usr/lib/python3/dist-packages"), alone: true},
	{name: "pino", lang: "JavaScript", fetch: fmt.Sprintf(npm, "pino@9.7.0"), alone: true},
	{name: "commander", lang: "JavaScript", fetch: fmt.Sprintf(npm, "commander@14.0.0"), alone: true},
	{name: "ws", lang: "JavaScript", fetch: fmt.Sprintf(npm, "ws@8.13.0"), alone: true},
	{name: "axios", lang: "JavaScript", fetch: fmt.Sprintf(npm, "axios@1.6.0"), alone: true},
	{name: "rxjs", lang: "TypeScript", fetch: fmt.Sprintf(npm, "rxjs@7.8.1"), alone: true},
	// 1.1.6
	{name: "csv", lang: "Rust", fetch: fmt.Sprintf(deb, "librust-csv-dev", "usr/share/cargo/registry/*"),
		alone: true},
	// 2.6.2
	{name: "ureq", lang: "Rust", fetch: fmt.Sprintf(deb, "librust-ureq-dev", "usr/share/cargo/registry/*"),
		alone: true},
	// 0.17.3
	{name: "indicatif", lang: "Rust", fetch: fmt.Sprintf(deb, "librust-indicatif-dev",
		"usr/share/cargo/registry/*"), alone: true},
	// 0.4.18
	{name: "ignore", lang: "Rust", fetch: fmt.Sprintf(deb, "librust-ignore-dev",
		"usr/share/cargo/registry/*"), alone: true},
	// 2.7.9
	{name: "hikari", lang: "Java", fetch: debian("bookworm", "hikaricp"), alone: true},
	// 1.15.3
	{name: "jsoup", lang: "Java", fetch: debian("bookworm", "jsoup"), alone: true},
	// 3.9.1
	{name: "apscheduler", lang: "Python",
		fetch: fmt.Sprintf(deb, "python3-apscheduler", "usr/lib/python3/dist-packages/apscheduler"),
		alone: true},
	// Debian 12's libpython3.11
	{name: "python", lang: "Python", dir: "/usr/lib/python3.11"},
	// 2.28.2, in Debian 12's python3-pip
	{name: "requests", lang: "Python", dir: "/usr/lib/python3/dist-packages/pip/_vendor/requests"},
	// 1.26.14, there too
	{name: "urllib3", lang: "Python", dir: "/usr/lib/python3/dist-packages/pip/_vendor/urllib3"},
	// 8.1.0, there too
	{name: "tenacity", lang: "Python", dir: "/usr/lib/python3/dist-packages/pip/_vendor/tenacity"},
	// 0.20.4, Debian 12's python3-httplib2
	{name: "httplib2", lang: "Python", dir: "/usr/lib/python3/dist-packages/httplib2"},
	// 23.0.1, in Debian 12's python3-pip
	{name: "pip", lang: "Python", dir: "/usr/lib/python3/dist-packages/pip/_internal"},
	// 12.6.0, there too
	{name: "rich", lang: "Python", dir: "/usr/lib/python3/dist-packages/pip/_vendor/rich"},
	// 4.11.2, Debian 12's python3-bs4
	{name: "bs4", lang: "Python", dir: "/usr/lib/python3/dist-packages/bs4", alone: true},
	// 3.2.2, Debian 12's python3-oauthlib
	{name: "oauthlib", lang: "Python", dir: "/usr/lib/python3/dist-packages/oauthlib", alone: true},
}

// place is where an answer stands. Text is its first line, by which it is found
// again where another build of the same release has moved it.
type place struct {
	File       string `json:"file"`
	Start, End int
	Text       string `json:"text"`
}

// asked is a question as a teammate would put it, and the places that answer it.
type asked struct {
	Question string `json:"question"`
	place
	Also []place `json:"also"`
}

func (a asked) places() []place { return append([]place{a.place}, a.Also...) }

// questions reads one half of a codebase's questions and finds their lines.
func questions(data, root, name, half string) ([]asked, error) {
	f, err := os.Open(filepath.Join(data, "questions", name+"."+half+".ndjson"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // some codebases belong to one half, whole
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []asked
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var a asked
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		if err := errors.Join(a.settle(root), settleAll(root, a.Also)); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", f.Name(), a.Question, err)
		}
		all = append(all, a)
	}
	return all, nil
}

func settleAll(root string, places []place) (err error) {
	for i := range places {
		err = errors.Join(err, places[i].settle(root))
	}
	return err
}

// settle moves p to the nearest line that has its text.
func (p *place) settle(root string) error {
	text, err := os.ReadFile(filepath.Join(root, p.File))
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	for away := range len(lines) {
		for _, n := range []int{p.Start + away, p.Start - away} {
			if n >= 1 && n <= len(lines) && strings.TrimSpace(lines[n-1]) == p.Text {
				p.Start, p.End = n, p.End+n-p.Start
				return nil
			}
		}
	}
	return fmt.Errorf("%s has no line %q", p.File, p.Text)
}

// locate returns the folder of a codebase; cleanup takes away what it made.
func (c codebase) locate() (dir string, cleanup func(), err error) {
	nothing := func() {}
	switch {
	case c.fetch != "":
		if dir, err = os.MkdirTemp("", "codebase"); err != nil {
			return "", nothing, err
		}
		sh := exec.Command("sh", "-c", c.fetch)
		sh.Dir = dir
		if out, err := sh.CombinedOutput(); err != nil {
			return "", func() { os.RemoveAll(dir) }, fmt.Errorf("%w: %.200s", err, out)
		}
		return filepath.Join(dir, c.dir), func() { os.RemoveAll(dir) }, nil
	case c.dir != "":
		_, err := os.Stat(c.dir)
		return c.dir, nothing, err
	case c.module != "":
		out, err := exec.Command("go", "mod", "download", "-json", c.module).Output()
		var at struct{ Dir string }
		if err == nil {
			err = json.Unmarshal(out, &at)
		}
		return at.Dir, nothing, err
	}
	dir, err = os.MkdirTemp("", "questions")
	if err != nil {
		return "", nothing, err
	}
	cleanup = func() { os.RemoveAll(dir) }
	archive := exec.Command("git", "archive", c.commit)
	untar := exec.Command("tar", "-x", "-C", dir)
	untar.Stdin, err = archive.StdoutPipe()
	if err == nil {
		err = untar.Start()
	}
	if err == nil {
		err = errors.Join(archive.Run(), untar.Wait())
	}
	return dir, cleanup, err
}

// sources calls fn with every text file of a codebase that the plain search reads:
// what people call code, documents and configuration.
func sources(root string, fn func(path string, text []byte)) error {
	kinds := strings.Fields(".go .py .ts .rs .java .md .rst .txt .toml .yaml .yml .json .cfg .ini .sh .jq .1 .5 .7 .html .js .css .mod")
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !slices.Contains(kinds, filepath.Ext(path)) {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() > 1<<20 {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		fn(filepath.ToSlash(rel), text)
		return err
	})
}
