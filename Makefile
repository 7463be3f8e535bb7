# Tandem's two commands are `make demo` and `make test`; `make` lists all.
# Every one works without a terminal and leaves nothing behind but the build in .build.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.SILENT:
.PHONY: help demo test format format-check dependencies clean

SOURCES := Package.swift Sources Client Daemon Tests
# Debian packages without which it does not build.
PACKAGES := liblmdb-dev pkg-config

help:
	echo "make demo          build, then play the World Cup of 2022 over three processes and a daemon"
	echo "make test          lint, build and run all tests"
	echo "make format        format the sources in place"
	echo "make format-check  lint the sources, as make test does"
	echo "make clean         remove the build"

demo: dependencies
	echo "== building tandemd and worldcup"
	swift build --product tandemd
	swift build --product worldcup
	bin=$$(swift build --show-bin-path)
	echo "== the World Cup of 2022: a daemon, a process that plays, a process that shows the table"
	exec "$$bin/worldcup" demo --tandemd "$$bin/tandemd" $(DEMO)

test: dependencies format-check
	echo "== building everything, tests included"
	swift build --build-tests
	echo "== running the tests"
	mkdir -p .build
	log=$$(mktemp .build/test.XXXXXX)
	TMPDIR=$$(mktemp -d)
	export TMPDIR
	trap 'rm -rf "$$log" "$$TMPDIR"' EXIT
	status=0
	timeout --kill-after=10 1200 swift test --skip-build --parallel 2>&1 | tee "$$log" || status=$$?
	echo "== $$(grep -E 'Test run with .* (passed|failed)' "$$log" | tail -1 || true)"
	exit $$status

format-check:
	echo "== linting"
	swift format lint --strict --parallel --recursive $(SOURCES)

format:
	swift format format --in-place --parallel --recursive $(SOURCES)

# Installs what is missing: as root at once, else by sudo, else it says what to do.
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
	rm -rf .build Tests/Benchmarks/.build
