# make            build every program into bin/
# make demo       build, and run the main job end to end
# make check      format, vet, staticcheck, modules, pages, tests: what a change must pass
# make nightly    what takes longer: tests whole and with the race detector, fuzz, torture
# make fuzz       every fuzz target, a thousand inputs each
# make torture    kill -9 of every stage, a fault at every call; about ten minutes
# make mutate     which small changes of the code no test notices; two hours
# make flaky      every test twenty times, each time in another order; hours
# make bench      what it costs beside jq, gojq, Miller, sha256sum, in one table; five minutes
# make presence   tri-presence, who is typing in Telegram: minutes, and 5 GB of memory; presence-check tests it
# make install    programs, pages, completions, examples and units below PREFIX; make uninstall
# make dist       archives, packages, module list and sums of a release in dist/
# make dist-check that two builds of it are equal, and its packages work

PREFIX  = /usr/local
BINDIR  = $(PREFIX)/bin
MANDIR  = $(PREFIX)/share/man
DOCDIR  = $(PREFIX)/share/doc/tri
UNITDIR = $(PREFIX)/lib/systemd/user
BASH    = $(PREFIX)/share/bash-completion/completions
ZSH     = $(PREFIX)/share/zsh/site-functions
FISH    = $(PREFIX)/share/fish/vendor_completions.d
PROGRAMS = $(notdir $(wildcard cmd/tri*))
OUT     = bin/
GO      = go
VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS = -s -w -X tri/lib/base/cli.version=$(VERSION)

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0

# Packages where goroutines share the most: check runs them with the race detector,
# nightly all of them.
RACE = ./lib/base/... ./lib/record/... ./lib/chat/session ./lib/agent/supervise ./lib/flow/supervise

# On a machine that is busy with other things a package may take long. TRI_BIN: the programs under test.
TEST = TRI_BIN=$(CURDIR)/$(OUT) $(GO) test -timeout 30m -p 4

all:
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -tags urfave_cli_no_docs,nethttpomithttp2 -ldflags '$(LDFLAGS)' -o $(OUT) ./cmd/...

demo: all
	bin/tri demo --dir demo --codebase .

check: all bin/nats-server lint
	$(TEST) -short $(TESTFLAGS) ./...
	$(TEST) -short -race $(TESTFLAGS) $(RACE)
	cd scripts && $(TEST) -short $(TESTFLAGS) ./...

nightly: check
	scripts/vulnerable
	$(TEST) $(TESTFLAGS) ./...
	$(TEST) -short -race $(TESTFLAGS) ./...
	$(MAKE) fuzz
	$(MAKE) torture

lint:
	test -z "$$(gofmt -l cmd lib schemas scripts examples presence)" || { gofmt -d cmd lib schemas scripts examples presence; exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet -tags peers ./...
	$(GO) run $(STATICCHECK) ./...
	cd scripts && $(GO) mod tidy -diff
	cd scripts && $(GO) vet ./...
	cd scripts && $(GO) run $(STATICCHECK) ./...
	for page in man/*.[1-9] presence/*.1; do mandoc -T lint -W warning $$page || exit 1; done

# The server of tri-nats' tests, as its makers release it; no program of ours links it.
bin/nats-server: FORCE
	CGO_ENABLED=0 $(GO) build -C scripts -trimpath -ldflags '-s -w' -o ../$@ github.com/nats-io/nats-server/v2

# The Go below scripts is a module of its own: go build ./... links the programs only.
bin/scripts/%: FORCE
	$(GO) build -C scripts -o ../$@ ./$*

FORCE:

# The Go below presence is a module of its own, for gotd's weight. Neither check nor CI builds it. With
# the same flags, tests do not compile gotd again.
presence presence-check: export GOFLAGS = -trimpath -buildvcs=false
presence presence-check: export CGO_ENABLED = 0
presence:
	$(GO) build -C presence -ldflags '$(LDFLAGS)' -o ../bin/presence/tri-presence .

presence-check: presence
	cd presence && $(GO) mod tidy -diff
	cd presence && $(GO) test -vet=off -timeout 10m ./...

fuzz:
	scripts/fuzz

torture: all bin/scripts/torture bin/nats-server
	bin/scripts/torture kill -rounds 150
	bin/scripts/torture kill -rounds 150 -chat mattermost
	bin/scripts/torture supervise -rounds 35
	bin/scripts/torture nats -rounds 60
	bin/scripts/torture box -rounds 30
	bin/scripts/torture box -rounds 10 -sandbox required
	bin/scripts/torture syscalls
# 69: this machine lets nobody mount, and torture has said so.
	bin/scripts/torture power -rounds 32 -mounts ext4,ext4:commit=1:noauto_da_alloc,xfs,btrfs || test $$? = 69
	bin/scripts/torture full -rounds 1 -mounts ext4 || test $$? = 69
	bin/scripts/torture stop -rounds 40 -messages 40
	bin/scripts/torture readers -messages 40
	bin/scripts/torture model -rounds 10000
	bin/scripts/torture follow -rounds 100
	bin/scripts/torture clock -rounds 4 -messages 40 -warped bin/warped
	bin/scripts/torture soak -rounds 30 -messages 120 -warped bin/warped
	rm -r bin/warped

mutate: bin/scripts/mutate
	bin/scripts/mutate $(MUTATEFLAGS)

flaky:
	scripts/flaky

dist: bin/scripts/dist
	bin/scripts/dist -version $(VERSION) $(TARGETS)

dist-check:
	scripts/dist/check

check-peers: all
	scripts/peers/run

bench:
	scripts/bench/run $(BENCH)

# what is linked, against scripts/size/budgets; SIZEFLAGS=-set sets them
size: all bin/scripts/size
	bin/scripts/size -bin bin $(SIZEFLAGS)

cover:
	rm -rf cover && mkdir -p cover
	GOCOVERDIR=$$PWD/cover $(GO) test -count=1 -timeout 30m ./cmd
	$(GO) tool covdata percent -i cover

# programs, pages, completions for bash, zsh and fish, documentation with examples, units
install: all
	mkdir -p $(addprefix $(DESTDIR),$(BINDIR) $(MANDIR)/man1 $(MANDIR)/man5 $(MANDIR)/man7 $(BASH) $(ZSH) $(FISH) $(DOCDIR) $(UNITDIR))
	for program in $(PROGRAMS); do \
		install -m 755 bin/$$program $(DESTDIR)$(BINDIR)/$$program && \
		bin/$$program --completion bash >$(DESTDIR)$(BASH)/$$program && \
		bin/$$program --completion zsh >$(DESTDIR)$(ZSH)/_$$program && \
		bin/$$program --completion fish >$(DESTDIR)$(FISH)/$$program.fish || exit; \
	done
	for page in man/*.[157]; do install -m 644 $$page $(DESTDIR)$(MANDIR)/man$${page##*.} || exit; done
	cp -r examples *.md $(DESTDIR)$(DOCDIR)
	for unit in examples/systemd/user/*; do \
		sed 's,/usr/local/bin,$(BINDIR),' $$unit >$(DESTDIR)$(UNITDIR)/$${unit##*/} || exit; \
	done

# removes what install puts there; homes stay
uninstall:
	for program in $(PROGRAMS); do \
		rm -f $(DESTDIR)$(BINDIR)/$$program $(DESTDIR)$(BASH)/$$program $(DESTDIR)$(ZSH)/_$$program $(DESTDIR)$(FISH)/$$program.fish; \
	done
	for page in man/*.[157]; do rm -f $(DESTDIR)$(MANDIR)/man$${page##*.}/$${page#man/}; done
	for unit in examples/systemd/user/*; do rm -f $(DESTDIR)$(UNITDIR)/$${unit##*/}; done
	rm -rf $(DESTDIR)$(DOCDIR)

clean:
	rm -rf bin cover demo dist flaky

.PHONY: all demo check nightly lint presence presence-check fuzz torture mutate flaky dist dist-check check-peers bench size cover install uninstall clean
