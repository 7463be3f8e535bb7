# The two main commands are `make demo` and `make test`; `make` lists all of them.
# No command needs a terminal. Only `make install` creates files outside .build.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.SILENT:
.PHONY: help demo test check api-baseline format format-check dependencies clean install uninstall

SOURCES := Package.swift Sources Client Daemon Tests
# Debian packages required for the build.
PACKAGES := liblmdb-dev pkg-config
# Packages also required for the tests, which compare fetches with SQLite.
ORACLE_PACKAGES := libsqlite3-dev
# Optional packages, with which tests check units and system calls. A test whose package is missing is skipped.
TEST_PACKAGES ?=

# The prefix of installed paths; DESTDIR is prepended to all of them, for packaging.
PREFIX ?= /usr/local
DESTDIR ?=
# A folder with the programs tandem and tandemd; if empty, both are built for release.
BINARIES ?=
# The flags with which the benchmarks build tandemd. Overlapping accesses to a variable are not
# checked at run time; in test builds they trap.
RELEASE := -c release -Xswiftc -enforce-exclusivity=unchecked --static-swift-stdlib --scratch-path .build/install
LIB := $(PREFIX)/lib
SHARE := $(PREFIX)/share
# Every installed file, below DESTDIR; `make uninstall` removes these.
INSTALLED := $(PREFIX)/bin/tandem $(PREFIX)/bin/tandemd \
    $(LIB)/systemd/system/tandemd@.service $(LIB)/systemd/system/tandemd@.socket \
    $(LIB)/systemd/user/tandemd@.service $(LIB)/systemd/user/tandemd@.socket \
    $(LIB)/sysusers.d/tandem.conf $(LIB)/tmpfiles.d/tandem.conf \
    $(foreach name,tandem tandemd,$(SHARE)/bash-completion/completions/$(name) \
        $(SHARE)/zsh/site-functions/_$(name) $(SHARE)/fish/vendor_completions.d/$(name).fish) \
    $(SHARE)/man/man1/tandem.1 $(SHARE)/man/man8/tandemd.8 $(SHARE)/man/man5/tandemd.yaml.5 \
    $(SHARE)/doc/tandem/Importing.md $(SHARE)/doc/tandem/examples/flights-model.json \
    $(SHARE)/doc/tandem/examples/flights-map.json \
    $(addprefix $(SHARE)/doc/tandem/examples/,$(notdir $(wildcard systemd/examples/*)))

help:
	echo "make demo          build, then play the World Cup of 2022 with three processes and a daemon"
	echo "make test          lint, build and run all tests; TEST='REGULAR EXPRESSION' selects tests"
	echo "make check         run the deep kinds of tests for 30 minutes or MINUTES=N; KINDS=a,b selects some"
	echo "make api-baseline  rewrite the list of public symbols that a test compares"
	echo "make format        format the sources in place"
	echo "make format-check  lint the sources, as make test does"
	echo "make install       build for release and install below DESTDIR and PREFIX ($(PREFIX))"
	echo "make uninstall     remove the installed files"
	echo "make clean         remove the build products"

demo: dependencies
	echo "== building tandemd and worldcup"
	swift build --product tandemd
	swift build --product worldcup
	bin=$$(swift build --show-bin-path)
	echo "== the World Cup of 2022: a daemon, a process that plays, a process that shows the table"
	exec "$$bin/worldcup" demo --tandemd "$$bin/tandemd" $(DEMO)

# TEST='REGULAR EXPRESSION' runs only tests whose ids match. ALL=1 also runs tests that passed earlier
# and have not changed since; so do EVERY_FAULT=1 and TEST_PACKAGES, because an earlier run may have
# skipped tests. With EVERY_FAULT=1 the run fails if a test named in Faults.md is skipped, because a
# program or root privileges are missing.
test: PACKAGES += $(ORACLE_PACKAGES) $(TEST_PACKAGES)
test: dependencies format-check
	echo "== building everything, tests included"
	swift build --build-tests
	# The examples are packages of their own, which share the build products. Without --product and
	# with its cache, the build system would use the plan or the result of the previous package.
	for main in Tests/Examples/*/Sources/*/main.swift; do
	    folder=$$(dirname "$$main")
	    swift build --package-path "$${folder%/Sources/*}" --scratch-path .build \
	        --disable-build-manifest-caching --product "$${folder##*/}"
	done
	echo "== running the tests"
	options=(--durations Tests/suite-durations.tsv --measured .build/suite-durations.tsv)
	options+=(--faults Daemon/TandemDaemon/TandemDaemon.docc/Faults.md)
	[[ -z $${EVERY_FAULT:-} ]] || options+=(--every-fault)
	options+=(--passed .build/passed-targets.tsv)
	[[ -z "$${ALL:-}$${EVERY_FAULT:-}$(TEST_PACKAGES)" ]] || options+=(--all)
	[[ -z $${JOBS:-} ]] || options+=(--jobs "$$JOBS")
	[[ -z $${TEST:-} ]] || options+=(--filter "$$TEST")
	exec "$$(swift build --show-bin-path)/TestRunner" test "$${options[@]}"

# KINDS=worlds,images runs only these kinds; SEED=N sets the first seed. Tests/README.md lists the kinds.
check: PACKAGES += $(ORACLE_PACKAGES) $(TEST_PACKAGES)
check: dependencies
	swift build --product TestRunner
	options=(--minutes "$${MINUTES:-30}")
	[[ -z $${KINDS:-} ]] || options+=(--kinds "$$KINDS")
	[[ -z $${SEED:-} ]] || options+=(--seed "$$SEED")
	exec "$$(swift build --show-bin-path)/TestRunner" check "$${options[@]}"

# Rewrites the list of public symbols that a test compares with the interface.
api-baseline: dependencies
	swift build --build-tests
	TANDEM_API_BASELINE=1 "$$(swift build --show-bin-path)/TestRunner" test --filter PublicInterfaceTests

# Lints only files that changed since all files passed.
format-check:
	echo "== linting"
	mkdir -p .build
	touch .build/linting
	changed=()
	[[ ! .build/linted -nt .swift-format ]] || changed=(-newer .build/linted)
	find $(SOURCES) -name '.build*' -prune -o -name '*.swift' "$${changed[@]}" -print0 \
	    | xargs -0 -r swift format lint --strict --parallel
	mv .build/linting .build/linted

format:
	swift format format --in-place --parallel --recursive $(SOURCES)

# Installs missing packages as root or with sudo; without either, prints the command to run.
dependencies:
	if ! command -v swift >/dev/null; then
	    echo "no swift: install a Swift 6.3 toolchain (https://www.swift.org/install/linux/) and put it on PATH" >&2
	    exit 1
	fi
	missing=()
	for package in $(PACKAGES); do
	    dpkg-query -W -f='$${Status}' "$$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$$package")
	done
	[[ $${#missing[@]} -eq 0 ]] && exit 0
	echo "== installing $${missing[*]}"
	as_root=()
	if [[ $$EUID -ne 0 ]]; then
	    as_root=(sudo)
	    [[ -t 0 ]] || as_root=(sudo -n)
	    if ! command -v sudo >/dev/null || ! "$${as_root[@]}" true; then
	        echo "not root: run \`apt-get update && apt-get install -y $${missing[*]}\` as root, then make again" >&2
	        exit 1
	    fi
	fi
	"$${as_root[@]}" apt-get update -qq
	"$${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$${missing[@]}"

clean:
	rm -rf .build .build-tsan .build-release Tests/Benchmarks/.build Tests/Fuzzing/.build Tests/Macros/.build

# Does not start or enable anything; Daemon/TandemDaemon/TandemDaemon.docc/Service.md describes how to do that.
# The units refer to the installed binaries.
install:
	bin="$(BINARIES)"
	if [[ -z $$bin ]]; then
	    $(MAKE) --no-print-directory dependencies
	    echo "== building for release"
	    for product in tandem tandemd; do
	        swift build $(RELEASE) --product $$product
	    done
	    bin=$$(swift build $(RELEASE) --show-bin-path)
	fi
	put() { install -D -m "$$1" "$$2" "$(DESTDIR)$$3"; }
	named() { sed 's|/usr/bin/tandem|$(PREFIX)/bin/tandem|' "$$1" | put 644 /dev/stdin "$$2"; }
	for name in tandem tandemd; do
	    put 755 "$$bin/$$name" "$(PREFIX)/bin/$$name"
	    complete() { "$$bin/$$name" --generate-completion-script "$$1" | put 644 /dev/stdin "$$2"; }
	    complete bash "$(SHARE)/bash-completion/completions/$$name"
	    complete zsh "$(SHARE)/zsh/site-functions/_$$name"
	    complete fish "$(SHARE)/fish/vendor_completions.d/$$name.fish"
	done
	# Manual pages are generated from the programs' help. The page of the configuration file is an alias of
	# the daemon's page, which lists the keys.
	page() {
	    "$$bin/$$1" --experimental-dump-help | "$$bin/tandem" manual --section "$$2" --see "$$3" --see "$$4" \
	        | put 644 /dev/stdin "$(SHARE)/man/man$$2/$$1.$$2"
	}
	page tandem 1 'tandemd(8)' 'tandemd.yaml(5)'
	page tandemd 8 'tandem(1)' 'systemd.socket(5)'
	echo '.so man8/tandemd.8' | put 644 /dev/stdin "$(SHARE)/man/man5/tandemd.yaml.5"
	for unit in tandemd@.service tandemd@.socket; do
	    named systemd/$$unit "$(LIB)/systemd/system/$$unit"
	    named systemd/user/$$unit "$(LIB)/systemd/user/$$unit"
	done
	for kind in sysusers tmpfiles; do
	    put 644 systemd/tandem.$$kind.conf "$(LIB)/$$kind.d/tandem.conf"
	done
	for example in systemd/examples/*; do
	    named "$$example" "$(SHARE)/doc/tandem/examples/$${example##*/}"
	done
	put 644 Client/Tandem/Tandem.docc/Importing.md "$(SHARE)/doc/tandem/Importing.md"
	for file in model map; do
	    put 644 Tests/ProcessTests/Flights/$$file.json "$(SHARE)/doc/tandem/examples/flights-$$file.json"
	done
	echo "== installed below $(DESTDIR)$(PREFIX)"

# Keeps stores, users and files written by an administrator.
uninstall:
	for file in $(INSTALLED); do
	    rm -f "$(DESTDIR)$$file"
	    # Empty folders are removed, too; without DESTDIR, only those that belong to Tandem.
	    if [[ -n "$(DESTDIR)" ]]; then
	        (cd "$(DESTDIR)" && rmdir -p ".$${file%/*}") 2>/dev/null || true
	    fi
	done
	rmdir "$(DESTDIR)$(SHARE)/doc/tandem/examples" "$(DESTDIR)$(SHARE)/doc/tandem" 2>/dev/null || true
	echo "== removed the installed files below $(DESTDIR)$(PREFIX)"
