import FoundationEssentials
import TandemIO
import TestSupport
import Testing

/// The units, as checked by systemd's own tools; without the tools these tests are skipped.
@Suite(.ownThread) struct UnitFileTests {
    /// The package's folder.
    static let root: String = {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(4)
        return parts.joined(separator: "/")
    }()

    private static let hasSystemd = isInstalled("systemd-analyze")

    private func exposure(_ unit: String, atMost threshold: Int) throws -> CommandRun {
        try CommandRun(
            shell:
                "systemd-analyze security --offline=true --no-pager --threshold=\(threshold) '\(unit)'"
        )
    }

    @Test(.enabled(if: hasSystemd, "systemd-analyze is not installed"))
    func `the system's service has an exposure of at most 1 of 10`() throws {
        let run = try exposure(Self.root + "/systemd/tandemd@.service", atMost: 10)
        #expect(run.code == 0, "\(run.output)")
        // Control: with a threshold below the service's exposure, the tool fails.
        #expect(try exposure(Self.root + "/systemd/tandemd@.service", atMost: 1).code != 0)
    }

    @Test(.enabled(if: hasSystemd, "systemd-analyze is not installed"))
    func `a user's service is as restricted as its manager allows, more so with the drop-in`()
        throws
    {
        let place = try Place()
        let unit = place.path + "/tandemd@.service"
        try CommandRun(shell: "cp '\(Self.root)/systemd/user/tandemd@.service' '\(unit)'").check()
        #expect(try exposure(unit, atMost: 60).code == 0)
        try CommandRun(
            shell:
                "mkdir '\(unit).d' && cp '\(Self.root)/systemd/examples/user-sandbox.conf' '\(unit).d/'"
        ).check()
        let run = try exposure(unit, atMost: 11)
        #expect(run.code == 0, "\(run.output)")
    }

    @Test(.enabled(if: hasSystemd, "systemd-analyze is not installed"))
    func `installed units pass systemd's verification`() throws {
        let place = try Place()
        let prefix = place.path + "/usr"
        try CommandRun(
            shell:
                "make -s -C '\(Self.root)' install PREFIX='\(prefix)' BINARIES='\(DaemonProcess.products)'"
        ).check()
        for folder in ["system", "user"] {
            let units = ["service", "socket"].map {
                "'\(prefix)/lib/systemd/\(folder)/tandemd@.\($0)'"
            }
            let kind = folder == "user" ? "--user" : "--system"
            let run = try CommandRun(
                shell: "XDG_RUNTIME_DIR='\(place.path)' systemd-analyze \(kind) --man=no verify "
                    + units.joined(separator: " "))
            #expect(run.code == 0 && run.output == "", "\(run.output)")
        }
    }

    @Test(.enabled(if: hasSystemd, "systemd-analyze is not installed"))
    func `the drop-in for users' daemons fits the unit`() throws {
        let place = try Place()
        let prefix = place.path + "/usr"
        let folder = prefix + "/lib/systemd/user"
        func verify() throws -> CommandRun {
            try CommandRun(
                shell: "XDG_RUNTIME_DIR='\(place.path)' systemd-analyze --user --man=no verify "
                    + "'\(folder)/tandemd@.service' '\(folder)/tandemd@.socket'")
        }
        try CommandRun(
            shell: "make -s -C '\(Self.root)' install PREFIX='\(prefix)' "
                + "BINARIES='\(DaemonProcess.products)' && cd '\(folder)' && mkdir tandemd@.service.d && "
                + "cp '\(prefix)/share/doc/tandem/examples/user-sandbox.conf' tandemd@.service.d/"
        ).check()
        let run = try verify()
        #expect(run.code == 0 && run.output == "", "\(run.output)")
        // Control: the tool reads the drop-in.
        try CommandRun(
            shell: "echo Nonsense=yes >>'\(folder)/tandemd@.service.d/user-sandbox.conf'"
        )
        .check()
        #expect(try verify().output.contains("Nonsense"))
    }

    @Test(.enabled(if: hasSystemd, "systemd-analyze is not installed"))
    func `the drop-in for a configuration fits the unit`() throws {
        let place = try Place()
        let prefix = place.path + "/usr"
        let unit = prefix + "/lib/systemd/system/tandemd@.service"
        try CommandRun(
            shell: "make -s -C '\(Self.root)' install PREFIX='\(prefix)' "
                + "BINARIES='\(DaemonProcess.products)' && mkdir '\(unit).d' && "
                + "cp '\(prefix)/share/doc/tandem/examples/configuration.conf' '\(unit).d/'"
        ).check()
        let run = try CommandRun(
            shell: "systemd-analyze --man=no verify '\(unit)' "
                + "'\(prefix)/lib/systemd/system/tandemd@.socket'")
        #expect(run.code == 0 && run.output == "", "\(run.output)")
        #expect(try exposure(unit, atMost: 10).code == 0)
    }

    @Test(.enabled(if: isInstalled("systemd-sysusers"), "systemd-sysusers is not installed"))
    func `the service's user, group and folders can be created`() throws {
        let place = try Place()
        let root = place.path
        try CommandRun(shell: "mkdir -p '\(root)/etc' '\(root)/usr/lib'").check()
        try CommandRun(
            shell: "systemd-sysusers --root='\(root)' '\(Self.root)/systemd/tandem.sysusers.conf'"
        ).check()
        let users = try String(contentsOfFile: root + "/etc/passwd", encoding: .utf8)
        #expect(users.contains("tandem:") && users.contains(":/var/lib/tandem:"), "\(users)")
        #expect(
            try String(contentsOfFile: root + "/etc/group", encoding: .utf8).contains("tandem:"))
        try CommandRun(
            shell:
                "systemd-tmpfiles --create --root='\(root)' '\(Self.root)/systemd/tandem.tmpfiles.conf'"
        ).check()
        for folder in ["run", "var/lib"] {
            #expect(
                try CommandRun(shell: "stat -c %a '\(root)/\(folder)/tandem'").output == "755\n")
        }
    }

    @Test(
        .enabled(
            if: hasSystemd && isInstalled("strace"), "systemd-analyze or strace is not installed"))
    func `the daemon makes no system call that the units forbid`() throws {
        let place = try Place()
        let trace = place.path + "/trace"
        let tracer = try DaemonProcess(
            "tandemd",
            ["--store", place.store, "--socket", place.socket, "--segment-mebibytes", "1"],
            wrapper: "strace -f -qq -o '\(trace)'")
        _ = tracer.readOutput { $0.contains("ready:") }
        let saver = try BridgeProcess(place.socket)
        try saver.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        for number in 0..<50 {
            try saver.ask(
                #"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "\#(number)"}}]}"#)
        }
        _ = try saver.finish()
        let child = try CommandRun(shell: "pgrep -P \(tracer.processID)").lines.first
        try CommandRun(shell: "kill -TERM \(try #require(child))").check()
        #expect(tracer.wait() == 0)
        // Lines are like "1234 openat(AT_FDCWD, …", from the program's start on.
        let text = try String(contentsOfFile: trace, encoding: .utf8)
        let calls = Set(
            text.split(separator: "\n").compactMap { line -> String? in
                guard let word = line.split(separator: " ").dropFirst().first,
                    let end = word.firstIndex(of: "(")
                else { return nil }
                return String(word[..<end])
            })
        #expect(calls.count > 20, "\(calls)")
        var allowed = try Self.calls(of: "@system-service")
        for group in ["@privileged", "@resources", "@obsolete"] {
            allowed.subtract(try Self.calls(of: group))
        }
        #expect(calls.subtracting(allowed) == [])
    }

    /// Returns the system calls of a systemd group, including those of nested groups.
    private static func calls(of group: String) throws -> Set<String> {
        let run = try CommandRun(shell: "systemd-analyze --no-pager syscall-filter \(group)")
        var calls: Set<String> = []
        for line in run.lines.dropFirst() {
            let word = line.filter { $0 != " " }
            if word.hasPrefix("@") {
                calls.formUnion(try Self.calls(of: word))
            } else if !word.hasPrefix("#") {
                calls.insert(word)
            }
        }
        return calls
    }
}

extension CommandRun {
    /// Fails the test and throws if the run did not succeed.
    func check(_ place: SourceLocation = #_sourceLocation) throws {
        try #require(code == 0, "\(output)", sourceLocation: place)
    }
}
