import FoundationEssentials
import TandemJournal
import TestSupport
import Testing

@testable import TandemDaemon

/// Setting keys, their values, and the errors about them.
@Suite(.ownThread) struct SettingTests {
    private let defaults = DaemonConfiguration(store: "/store", socket: "/socket")
    private let names = NameLookup(
        user: { ["alice": 7, "bob": 8][$0] }, group: { ["staff": 70][$0] })

    private func assembly(_ given: (String, [String])...) -> SettingAssembly {
        var assembly = SettingAssembly(defaults, lookup: names)
        for (name, values) in given {
            assembly.set(GivenSetting(name, values, from: "/file.yaml:3"))
        }
        assembly.finish()
        return assembly
    }

    @Test func `no two keys share a name or a variable`() {
        #expect(Set(Setting.all.map(\.name)).count == Setting.all.count)
        #expect(Set(Setting.all.map(\.variable)).count == Setting.all.count)
        #expect(Setting.named("limits.ringBytes")?.variable == "TANDEMD_LIMITS_RING_BYTES")
        #expect(Setting.named("socket.path")?.variable == "TANDEM_SOCKET")
    }

    @Test(arguments: Limit.allCases)
    func `every limit accepts its bounds and its default, and nothing beyond`(_ limit: Limit) {
        let name = "limits.\(limit.rawValue)"
        let range = limit.facts.range
        #expect(range.contains(DaemonLimits()[limit]))
        for value in [range.lowerBound, range.upperBound, DaemonLimits()[limit]] {
            var assembly = SettingAssembly(defaults)
            assembly.set(GivenSetting(name, [limit.facts.unit.text(value)], from: "test"))
            #expect(assembly.problems.isEmpty, "\(assembly.problems)")
            #expect(assembly.configuration.limits[limit] == value)
        }
        for value in [
            "\(range.lowerBound - 1)", "\(range.upperBound + 1)", "", "many", "-5", "1 m",
        ] {
            let assembly = assembly((name, [value]))
            let problem = assembly.problems.first ?? ""
            for word in ["/file.yaml:3", name, "\"\(value)\"", " to "] {
                #expect(problem.contains(word), "\(problem)")
            }
            #expect(assembly.configuration.limits == DaemonLimits())
        }
    }

    @Test func `numbers have units`() {
        #expect(SettingUnit.bytes.number("64 KiB") == 65_536)
        #expect(SettingUnit.bytes.number("64KiB") == 65_536)
        #expect(SettingUnit.bytes.number("9") == 9)
        #expect(SettingUnit.milliseconds.number("2 min") == 120_000)
        #expect(SettingUnit.seconds.number("30 d") == 2_592_000)
        for text in ["", "KiB", "1 KB", "1.5 MiB", "-1", "9 PiB", "9223372036854775807 KiB"] {
            #expect(SettingUnit.bytes.number(text) == nil, "\(text)")
        }
        #expect(SettingUnit.bytes.text(3 << 19) == "1536 KiB")
        #expect(SettingUnit.count.text(0) == "0")
    }

    @Test func `an unknown key is refused with a similar one`() {
        let assembly = assembly(("limits.conections", ["5"]), ("ringBytes", ["5"]), ("zzz", ["5"]))
        #expect(
            assembly.problems == [
                "/file.yaml:3: there is no key limits.conections; did you mean "
                    + "limits.connections?",
                "/file.yaml:3: there is no key ringBytes; did you mean limits.ringBytes?",
                "/file.yaml:3: there is no key zzz; see tandemd --help",
            ])
    }

    @Test func `roles are lists of users and groups by name or number`() {
        let assembly = assembly(
            ("roles.others", ["none"]), ("roles.reader.users", ["alice", "12"]),
            ("roles.admin.groups", ["staff"]))
        #expect(assembly.problems.isEmpty)
        let roles = assembly.configuration.roles
        #expect(roles.others == .none && roles.users == [.reader: [7, 12]])
        #expect(roles.groups == [.admin: [70]])
        let unknown = self.assembly(("roles.writer.users", ["carol"])).problems
        #expect(unknown.first?.contains("no user carol") == true)
    }

    @Test func `values of other types are parsed as well`() {
        let good = assembly(
            ("socket.mode", ["0600"]), ("socket.group", ["staff"]), ("durability", ["relaxed"]),
            ("journal.keepSeconds", ["2 d"]), ("mapBytes", ["2 MiB"]))
        #expect(good.problems.isEmpty, "\(good.problems)")
        #expect(good.configuration.socketMode == 0o600)
        #expect(good.configuration.socketGroup == 70)
        #expect(good.configuration.durability == .relaxed)
        #expect(good.configuration.retention.keepSeconds == 172_800)
        #expect(good.configuration.storeQuotaBytes == 2 << 20)
        for (name, value) in [
            ("socket.mode", "0999"), ("socket.mode", "0111"), ("socket.group", "nobody?"),
            ("durability", "some"), ("store", ""), ("roles.others", "king"),
        ] {
            #expect(assembly((name, [value])).problems.count == 1, "\(name) \(value)")
        }
        #expect(assembly(("durability", ["full", "relaxed"])).problems.count == 1)
    }

    @Test func `the journal's default bounds apply together, or none of them`() {
        #expect(assembly().configuration.retention == RetentionPolicy.standard)
        func retention(_ given: (String, [String])) -> RetentionPolicy {
            assembly(given).configuration.retention
        }
        #expect(retention(("journal.keepBytes", ["all"])).keepsAll)
        #expect(retention(("journal.capBytes", ["none"])).keepsAll)
        #expect(
            retention(("journal.keepSeconds", ["30 d"]))
                == RetentionPolicy(keepSeconds: 30 * 86_400))
        let two = assembly(("journal.keepBytes", ["9 GiB"]), ("journal.capBytes", ["90 GiB"]))
        #expect(two.problems == [])
        #expect(
            two.configuration.retention == RetentionPolicy(keepBytes: 9 << 30, capBytes: 90 << 30))
        #expect(two.lines.contains("journal.keepSeconds = all  # default"))
        #expect(assembly().lines.contains("journal.keepSeconds = 7 d  # default"))
        #expect(assembly(("journal.keepBytes", ["none"])).problems.count == 1)
    }

    @Test func `contradictory values are refused with both`() {
        let assembly = assembly(
            ("journal.keepBytes", ["2 GiB"]), ("journal.capBytes", ["1 GiB"]),
            ("limits.transactionBytes", ["1 MiB"]))
        #expect(
            assembly.problems == [
                "journal.keepBytes (2 GiB, /file.yaml:3) is larger than journal.capBytes "
                    + "(1 GiB, /file.yaml:3)",
                "limits.blobBytes (16 MiB, default) is larger than limits.transactionBytes "
                    + "(1 MiB, /file.yaml:3)",
            ])
    }

    @Test func `the lines name every key, its value and its origin`() {
        let lines = assembly(("limits.connections", ["5"])).lines
        #expect(lines.count == Setting.all.count)
        #expect(lines.contains("limits.connections = 5  # /file.yaml:3"))
        #expect(lines.contains("limits.frameBytes = 1 MiB  # default"))
    }

    @Test func `the page has every key with its default and bounds, and nothing else`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = root.appending(
            path: "Daemon/TandemDaemon/TandemDaemon.docc/Configuration.md")
        let text = String(decoding: try Data(contentsOf: page), as: UTF8.self)
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init)
        #expect(rows == Self.rows)
    }

    /// The expected rows of the page's tables.
    private static var rows: [String] {
        let defaults = DaemonConfiguration(store: "of NAME", socket: "of NAME")
        return Setting.all.map { setting in
            let value = setting.value(in: defaults)
            let limit = Limit.allCases.first { setting.name == "limits.\($0.rawValue)" }
            let cells = [
                "`\(setting.name)`", value.isEmpty ? "–" : value, setting.expected,
                setting.summary,
            ]
            let all = cells + (limit.map { [$0.facts.reached] } ?? [])
            return "| " + all.joined(separator: " | ") + " |"
        }
    }
}
