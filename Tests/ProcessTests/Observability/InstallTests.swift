import FoundationEssentials
import TandemIO
import Testing

/// `make install` and `make uninstall` with a `DESTDIR` and the binaries of this build.
@Suite(.ownThread) struct InstallTests {
    private func make(_ goal: String, _ destination: String) throws {
        try CommandRun(
            shell:
                "make -s -C '\(UnitFileTests.root)' \(goal) DESTDIR='\(destination)' PREFIX=/usr "
                + "BINARIES='\(DaemonProcess.products)'"
        ).check()
    }

    private func files(_ folder: String) throws -> Set<String> {
        Set(
            try CommandRun(shell: "cd '\(folder)' && find . ! -type d -printf '%m %P\\n'").lines)
    }

    @Test func `install adds programs, units and completions, uninstall leaves files of others`()
        throws
    {
        let place = try Place()
        let root = place.path + "/root"
        try make("install", root)
        let files = try files(root)
        for file in [
            "755 usr/bin/tandem", "755 usr/bin/tandemd",
            "644 usr/lib/systemd/system/tandemd@.service",
            "644 usr/lib/systemd/system/tandemd@.socket",
            "644 usr/lib/systemd/user/tandemd@.service", "644 usr/lib/systemd/user/tandemd@.socket",
            "644 usr/lib/sysusers.d/tandem.conf", "644 usr/lib/tmpfiles.d/tandem.conf",
            "644 usr/share/bash-completion/completions/tandem",
            "644 usr/share/zsh/site-functions/_tandemd",
            "644 usr/share/fish/vendor_completions.d/tandem.fish",
            "644 usr/share/man/man1/tandem.1", "644 usr/share/man/man8/tandemd.8",
            "644 usr/share/man/man5/tandemd.yaml.5",
            "644 usr/share/doc/tandem/examples/user-sandbox.conf",
            "644 usr/share/doc/tandem/examples/flights-map.json",
            "644 usr/share/doc/tandem/Importing.md",
        ] { #expect(files.contains(file), "\(file) of \(files)") }
        #expect(try CommandRun(path: root + "/usr/bin/tandem", ["--version"]).code == 0)
        let bash = root + "/usr/share/bash-completion/completions/tandem"
        #expect(try CommandRun(shell: "bash -n '\(bash)'").code == 0)
        #expect(try String(contentsOfFile: bash, encoding: .utf8).contains("metrics"))
        try make("install", root)
        #expect(try self.files(root) == files)
        try CommandRun(shell: "touch '\(root)/usr/bin/other' && mkdir -p '\(root)/var/empty'")
            .check()
        try make("uninstall", root)
        let rest = try CommandRun(shell: "cd '\(root)' && find . -mindepth 1 | sort")
        #expect(rest.lines == ["./usr", "./usr/bin", "./usr/bin/other", "./var", "./var/empty"])
        // An uninstall without an installation succeeds, and removes the folders that became empty.
        try CommandRun(shell: "rm -r '\(root)/usr/bin/other' '\(root)/var'").check()
        try make("uninstall", root)
        #expect(try CommandRun(shell: "find '\(root)' -mindepth 1").output == "")
    }
}
