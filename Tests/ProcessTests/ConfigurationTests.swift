import Foundation
import Glibc
import Tandem
import TandemIO
import Testing

/// The configuration of a real `tandemd`, and the effect of its roles on real processes.
@Suite(.ownThread, .serialized) struct ConfigurationTests {
    private func file(_ text: String, in place: Place) throws -> String {
        let path = place.store + ".yaml"
        try Data(text.utf8).write(to: URL(filePath: path))
        return path
    }

    private func check(
        _ arguments: [String], _ variables: [String: String] = [:]
    ) throws -> CommandRun {
        let settings = variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let path = DaemonProcess.products + "/tandemd"
        return try CommandRun(
            path: "/usr/bin/env", settings + [path, "--check-config"] + arguments)
    }

    @Test func `flags override the environment, which overrides the file and the defaults`()
        throws
    {
        let place = try Place()
        let path = try file(
            """
            limits:
              connections: 11
              connectionsPerUser: 12
              batchSaves: 13
            roles:
              reader:
                users: [root, 1]
            """, in: place)
        let run = try check(
            ["--config", path, "--set", "limits.connections=31", "--journal-keep", "2"],
            [
                "TANDEMD_LIMITS_CONNECTIONS": "21", "TANDEMD_LIMITS_CONNECTIONS_PER_USER": "22",
                "TANDEMD_ROLES_ADMIN_USERS": "3, 4", "TANDEM_STORE": "/there",
            ])
        #expect(run.code == 0, "\(run.output)")
        for line in [
            "store = /there  # TANDEM_STORE", "limits.connections = 31  # --set",
            "limits.connectionsPerUser = 22  # TANDEMD_LIMITS_CONNECTIONS_PER_USER",
            "limits.batchSaves = 13  # \(path):4", "journal.keepBytes = 2 MiB  # --journal-keep",
            "roles.reader.users = 0, 1  # \(path):7",
            "roles.admin.users = 3, 4  # TANDEMD_ROLES_ADMIN_USERS",
            "limits.frameBytes = 1 MiB  # default",
        ] { #expect(run.lines.contains(line), "\(line) in \(run.output)") }
    }

    @Test func `tandem reload and SIGHUP reread the file, and a wrong one changes nothing`() throws
    {
        let place = try Place()
        let path = try file("limits:\n  connections: 11\n", in: place)
        let daemon = try place.serve(options: ["--config", path])
        func connections() throws -> String {
            try CommandRun("tandem", ["config", "limits.connections", "--socket", place.socket])
                .lines.first ?? ""
        }
        let reload = ["reload", "--socket", place.socket]
        #expect(try connections() == "limits.connections = 11  # \(path):2")
        _ = try file("limits:\n\n  connections: 12\n", in: place)
        let done = try CommandRun("tandem", reload)
        expect(done, 0, "limits.connections was changed\n")
        expect(try CommandRun("tandem", reload), 0, "nothing was changed\n")
        _ = try file("limits:\n\n  connections: 12\njournal:\n  keepBytes: 2 MiB\n", in: place)
        expect(
            try CommandRun("tandem", reload), 0,
            "journal.keepBytes changes after a restart\n")
        _ = try file(
            "limits:\n\n  connections: 12\n  readerThreads: 3\n  storeReaders: 99\n", in: place)
        expect(
            try CommandRun("tandem", reload), 0,
            "limits.readerThreads changes after a restart\n"
                + "limits.storeReaders changes after a restart\n")
        #expect(try connections() == "limits.connections = 12  # \(path):3")
        _ = try file("limits:\n  conections: 13\n", in: place)
        let wrong = try CommandRun("tandem", reload)
        #expect(wrong.code == 2 && wrong.output.contains("limits.conections"), "\(wrong.output)")
        #expect(try connections() == "limits.connections = 12  # \(path):3")
        _ = try file("limits:\n  connections: 14\n", in: place)
        kill(daemon.processID, SIGHUP)
        while try !connections().contains("14") { Thread.sleep(forTimeInterval: 0.01) }
        #expect(daemon.end(SIGTERM) == 0)
    }

    @Test func `all configuration errors are reported at once, with their locations`() throws {
        let place = try Place()
        let path = try file("limits:\n  conections: 5\n  frameBytes: tiny\n", in: place)
        let run = try check(["--config", path], ["TANDEMD_LIMITS_RING": "5"])
        #expect(run.code == 2)
        for text in [
            "\(path):2: there is no key limits.conections; did you mean limits.connections?",
            "\(path):3: limits.frameBytes cannot be \"tiny\": expected 4 KiB to 1 MiB",
            "unknown environment variable TANDEMD_LIMITS_RING; "
                + "did you mean TANDEMD_LIMITS_RING_BYTES?",
        ] { #expect(run.output.contains(text), "\(text) in \(run.output)") }
        #expect(!run.output.contains("limits.connections ="))
    }

    @Test func `a configuration file that is named must exist and be YAML`() throws {
        let place = try Place()
        let missing = try check(["--config", place.store + "/none.yaml"])
        #expect(missing.code == 2 && missing.output.contains("none.yaml"))
        #expect(try check([], ["XDG_CONFIG_HOME": place.store]).code == 0)
        for text in ["limits: [1\n", "a: 1\na: 2\n", "- 1\n", "limits:\n  connections:\n"] {
            let run = try check(["--config", try file(text, in: place)])
            #expect(run.code == 2, "\(text): \(run.output)")
            #expect(run.output.contains(place.store + ".yaml"), "\(run.output)")
        }
        #expect(try check(["--config", try file("# nothing yet\n", in: place)]).code == 0)
    }

    @Test func `mode and group of the socket are as configured`() throws {
        let place = try Place()
        let path = try file("socket:\n  mode: 0600\n  group: \(getegid())\n", in: place)
        let daemon = try place.serve(options: ["--config", path])
        var facts = stat()
        #expect(stat(place.socket, &facts) == 0)
        #expect(facts.st_mode & 0o777 == 0o600 && facts.st_gid == getegid())
        #expect(daemon.end(SIGTERM) == 0)
    }

    /// Returns arguments that run a program as another user, in a supplementary group.
    private static func prefix(group: Int) -> [String] {
        ["--reuid", "65534", "--regid", "65534", "--groups", "\(group)"]
    }

    private static let canBeOthers: Bool = {
        guard geteuid() == 0 else { return false }
        let tool = DaemonProcess.products + "/tandem"
        let run = try? CommandRun(
            path: "/usr/bin/setpriv", prefix(group: 4_242) + [tool, "--help"])
        return run?.code == 0
    }()

    @Test(.enabled(if: canBeOthers, "requires root, setpriv, and programs that others may run"))
    func `a user without access to the socket or the store gets a permission error`() throws {
        let place = try Place()
        let daemon = try place.serve(options: ["--set", "socket.mode=0600"])
        chmod(place.path, 0o755)
        let tool = DaemonProcess.products + "/tandem"
        func run(_ words: String...) throws -> CommandRun {
            try CommandRun(path: "/usr/bin/setpriv", Self.prefix(group: 4_243) + [tool] + words)
        }
        // Verbs that wait for a daemon fail at once too.
        for verb in [["status"], ["health"], ["log"], ["log", "-f"], ["wait", "1"]] {
            let words = [tool] + verb + ["--socket", place.socket]
            let denied = try CommandRun(
                path: "/usr/bin/setpriv", Self.prefix(group: 4_243) + words)
            expectLine(
                denied, 4, "this user may not connect to \(place.socket)", "EACCES",
                "usermod -aG tandem USER")
        }
        #expect(daemon.end(SIGTERM) == 0)
        chmod(place.store, 0o700)
        let verbs = [
            "log", "disk-usage", "check", "dump", "blame Team/1", "verify",
            "backup \(place.path)/backup", "rebuild", "vacuum --size 1 -y",
        ]
        for verb in verbs {
            let words = verb.split(separator: " ").map(String.init) + ["-D", place.store]
            let denied = try CommandRun(
                path: "/usr/bin/setpriv", Self.prefix(group: 4_243) + [tool] + words)
            expectLine(denied, 4, "EACCES")
        }
        let salvage = try run("salvage", place.store, "--to", place.path + "/new")
        expectLine(salvage, 4, "EACCES")
        expect(try run("status", "--socket", place.path + "/none"), 3, "no daemon listens on")
    }

    @Test(.enabled(if: canBeOthers, "requires root, setpriv, and programs that others may run"))
    func `roles follow the user and supplementary groups that the kernel reports`() throws {
        let place = try Place()
        let text = "roles:\n  others: none\n  reader:\n    groups: [4242]\n"
        let path = try file(text, in: place)
        let daemon = try place.serve(options: ["--config", path, "--set", "socket.mode=0666"])
        chmod((place.store as NSString).deletingLastPathComponent, 0o755)
        let tool = DaemonProcess.products + "/tandem"
        func run(_ group: Int, _ words: [String]) throws -> CommandRun {
            try CommandRun(
                path: "/usr/bin/setpriv",
                Self.prefix(group: group) + [tool] + words + ["--socket", place.socket])
        }
        let clients = try run(4_242, ["clients", "-o", "json"])
        #expect(clients.code == 0, "\(clients.output)")
        #expect(clients.json.first?["role"]?.string == "reader")
        let refused = try run(4_242, ["clients", "--disconnect", "1"])
        #expect(refused.code == 4, "\(refused.output)")
        expectLine(try run(4_242, ["clients", "--cancel", "1:2"]), 4, "needs the role admin")
        for request in ["999", "999:1"] {
            let words = ["clients", "--cancel", request, "--socket", place.socket]
            expectLine(
                try CommandRun("tandem", words), 1,
                "no request of another client matches \(request); see `tandem clients`")
        }
        for wrong in ["x", "1:", "1:0", "1:2:3"] {
            let words = ["clients", "--cancel", wrong, "--socket", place.socket]
            expect(try CommandRun("tandem", words), 2, "--cancel")
        }
        let stranger = try run(4_243, ["status"])
        #expect(stranger.code == 4, "\(stranger.output)")
        let status = try CommandRun("tandem", ["status", "-o", "json", "--socket", place.socket])
        #expect(status.json.first?["refusedByReason"]?["role"]?.int == 1)
        #expect(status.json.first?["deniedRequests"]?.int == 2)
        #expect(daemon.end(SIGTERM) == 0)
    }
}
