import Foundation
import Tandem
import TandemStore
import Testing

@testable import tandem

/// Foreign names and values, which must not move a reader's cursor or forge lines.
@Suite(.ownThread) @MainActor struct HostileNamesTests: StoreSuite {
    let place: Place

    init() throws { place = try Place() }

    /// Escape sequences, line ends, marks that change the direction of text, hidden characters.
    static let hostile =
        "x\u{1b}[31m\u{9b}2J\u{7}\u{7f}\r\n\u{85}\u{202e}\u{2066}\u{2028}\u{2029}\u{200b}\u{feff}\u{e0041}y"

    private static let model = ManagedObjectModel {
        Entity("Team", uniqueness: [["name"]]) {
            Attribute("name", .string)
            Attribute("zone", .string)
            Attribute("link", .url)
            Relationship("players", to: "Player", inverse: "team", toMany: true)
        }
        Entity("Player") {
            Attribute("name", .string)
            Relationship("team", to: "Team", inverse: "players")
        }
    }

    /// Saves hostile names and values; the container follows teams until it is closed.
    private func fill() throws -> PersistentContainer {
        let container = PersistentContainer(
            model: Self.model, socket: place.socket, author: Self.hostile)
        let context = container.makeContext(name: Self.hostile)
        let team = try context.insert("Team")
        team["name"] = .string(Self.hostile)
        team["zone"] = .string(Self.hostile + "1")
        team["link"] = .url("https://x/" + Self.hostile)
        let player = try context.insert("Player")
        player["name"] = .string(Self.hostile)
        player.setObject(team, for: "team")
        try context.save()
        team["zone"] = .string(Self.hostile + "2")
        try context.save()
        context.delete(player)
        try context.save()
        _ = try context.fetch(FetchRequest(entity: "Team"))
        return container
    }

    /// Adds a consumer whose name an older daemon accepted, but the current one would not.
    private func addConsumer() throws {
        let store = try Store.open(
            path: place.store + "/store",
            newIdentity: StoreIdentity(log: LogID(high: 0, low: 0), epoch: 1))
        defer { store.close() }
        try store.repair([
            .put(.consumers, key: Array(Self.hostile.utf8), value: [UInt8](repeating: 0, count: 12))
        ])
    }

    private static let formats = ["short", "short-iso", "verbose", "json", "json-pretty", "cat"]

    /// Calls that print names and values of a daemon's store, and calls whose error message quotes
    /// a name.
    private static var asked: [[String]] {
        let wrong = hostile.replacing("\u{0}", with: "")
        return formats.map { ["log", "-o", $0] }
            + formats.map { ["history", "Team/1", "-o", $0] }
            + ["author", "context", "entity", "op", "unit"].map { ["log", "-F", $0] }
            + [
                ["log", "--stats"], ["log", "--stats", "author"], ["log", "--plot"],
                ["log", "--stats", "author", "-o", "json"], ["log", "-g", "x"],
                ["log", "show", "2"], ["log", "-t", wrong], ["log", "author=" + wrong],
                ["log", wrong + "=1"], ["log", "-c", wrong], ["log", "-E", wrong],
                ["blame", "Team/1"], ["blame", "Team/1", "-o", "json"],
                ["blame", "Team/1", wrong], ["blame", wrong + "/1"],
                ["show", "Team/1"], ["show", "Team/1", "-o", "json"], ["show", "Player/2"],
                ["show", "Player/2", "--at", "3"], ["diff", "1"], ["diff", "1", "3"],
                ["diff", "1", "-o", "json"],
                ["status"], ["status", "-o", "json"], ["config"], ["config", "-o", "json"],
                ["clients"], ["clients", "-o", "json"], ["subscriptions"],
                ["subscriptions", "-o", "json"], ["consumers"],
                ["consumers", "list", "-o", "json"],
                ["consumers", "info", wrong], ["consumers", "register", wrong],
                ["consumers", "remove", wrong], ["consumers", "info", "none" + wrong],
                ["health", "--lag", "1"], ["health", "--lag", "1", "-o", "json"], ["metrics"],
                ["disk-usage", "-D", wrong], ["vacuum", "--before", "3", "--dry-run"],
                ["vacuum", "--before", "3", "--dry-run", "-o", "json"],
                ["fetch", "Team"], ["fetch", "Team", "-o", "json"], ["fetch", wrong],
                ["fetch", "Team", "--where", "name = '\(wrong)'"],
                ["fetch", "Team", "--group-by", "zone", "--select", "zone,count"],
                ["fetch", "Team", "--where", "\(wrong) = 1"], ["count", "Team"], ["count", wrong],
                ["explain", "Team", "--where", "name = 'a'"], ["explain", wrong],
                ["schema"], ["schema", "check", wrong], ["schema", "diff", wrong],
                ["wait", "1"], ["wait", wrong], ["top", "-d", "0.05"],
                ["top", "-d", "0.05", "-o", "json"],
                ["insert", "Team", "name=" + wrong], ["insert", "Team", wrong + "=1"],
                ["insert", "Player", "team=name:none" + wrong],
                ["update", "Team/1", "zone=" + wrong], ["delete", "Team/9"], ["delete", wrong],
                ["revert", "3", "--dry-run"], ["revert", "4"], ["export"],
                ["import", wrong], ["import", wrong, "--entity", wrong], ["reload"],
                ["bridge", wrong], ["manual"], ["watch", wrong], [wrong], ["log", "--" + wrong],
            ]
    }

    /// Calls that read a store's directory without a daemon.
    private func offline(_ other: String) -> [[String]] {
        let source = ["-D", place.store]
        let backup = place.path + "/backup"
        return Self.formats.map { ["log", "-o", $0] + source }
            + [
                ["check"] + source, ["verify", "--deep"] + source, ["verify"] + source,
                ["dump"] + source, ["disk-usage"] + source, ["blame", "Team/1"] + source,
                ["show", "Team/1"] + source, ["diff", "1"] + source,
                ["vacuum", "--before", "3", "--dry-run"] + source, ["backup", backup] + source,
                ["backup", other + "/b"] + source,
                ["restore", backup, "--store", other], ["log", "-D", other],
                ["restore", other, "--store", place.path + "/r"],
                ["salvage", place.store, "--to", place.path + "/salvaged"],
                ["salvage", place.store, "--to", other + "/s"], ["rebuild"] + source,
                ["config", "--file", other],
            ]
    }

    private func expectPrintable(_ run: CommandRun, _ words: [String]) {
        let lines = run.output.unicodeScalars.split(separator: "\n")
        let bad = lines.filter { !$0.allSatisfy(\.isPrintable) }
        #expect(bad.isEmpty, "\(words): \(bad.map { String($0).debugDescription })")
        #expect(!run.output.isEmpty || run.code == 0, "\(words): \(run.code)")
    }

    @Test func `no verb prints a control character of a name or value`() throws {
        let daemon = try place.serve()
        let follower = try fill()
        defer { follower.close() }
        for words in Self.asked {
            expectPrintable(
                try CommandRun(
                    "tandem", words + (words == ["manual"] ? [] : ["--socket", place.socket])),
                words)
        }
        #expect(daemon.end(SIGTERM) == 0)
        try addConsumer()
        let again = try place.serve()
        for words in [
            ["consumers"], ["consumers", "-o", "json"], ["consumers", "info", Self.hostile],
            ["vacuum", "--before", "3", "--dry-run"], ["health", "--lag", "1"], ["metrics"],
            ["consumers", "reset", Self.hostile, "--to", "1", "--yes"],
            ["consumers", "remove", Self.hostile],
        ] {
            expectPrintable(try CommandRun("tandem", words + ["--socket", place.socket]), words)
        }
        #expect(again.end(SIGTERM) == 0)
        let offline = offline(place.path + "/" + Self.hostile)
        for words in offline { expectPrintable(try CommandRun("tandem", words), words) }
        // A new verb must be added here too; `HostileStreamTests` covers the long-running verbs.
        let tried = Set((Self.asked + offline).map { $0[0] })
        for verb in TandemCommand.configuration.subcommands {
            #expect(tried.contains(verb._commandName), "no run of \(verb._commandName)")
        }
    }

    @Test func `the daemon prints no control character of its arguments`() throws {
        let wrong = Self.hostile.replacing("\u{0}", with: "")
        for words in [
            ["--config", wrong], ["--set", wrong + "=1"], [wrong], ["--" + wrong],
            ["--store", place.path + "/" + wrong, "--socket", place.path],
            ["--store", place.store, "--socket", place.socket, "--set", "limits.ring=" + wrong],
            ["--check-config", "--store", wrong],
        ] {
            expectPrintable(try CommandRun("tandemd", words), ["tandemd"] + words)
        }
    }

    @Test func `the log of the daemon has no control character of a name`() throws {
        let daemon = try place.serve(options: ["--log-level", "debug"])
        try fill().close()
        kill(daemon.processID, SIGTERM)
        let text = daemon.readOutput()
        #expect(text.contains("author=\"x"), "\(text)")
        let bad = text.unicodeScalars.filter { $0 != "\n" && !$0.isPrintable }
        #expect(bad.isEmpty, "\(text.debugDescription)")
    }

    @Test(.enabled(if: isInstalled("script"), "script is not installed"))
    func `formats for programs are made printable on a terminal, and are raw elsewhere`() throws {
        try place.serve()
        let follower = try fill()
        defer { follower.close() }
        let own = try Regex("\u{1b}\\[(H|2J|K|J)")
        for words in [
            "log -o csv", "log -o export", "export Team -o csv", "history Team/1 -o csv",
            "log --color=never", "top -n 1 -d 0.05 --color=never", "blame Team/1 --color=never",
            "show Team/1 --color=never", "diff 1 --color=never",
        ] {
            let tandem = "'\(DaemonProcess.products)/tandem' \(words) --socket '\(place.socket)'"
            let run = try CommandRun(
                path: "/usr/bin/env",
                ["TERM=xterm", "TANDEM_PAGER=cat", "script", "-qec", tandem, "/dev/null"])
            let text = run.output.replacing("\r\n", with: "\n").replacing(own, with: "")
                .replacing("\r\n", with: "\n")
            let bad = text.unicodeScalars.filter { $0 != "\n" && !$0.isPrintable }
            #expect(bad.isEmpty && run.code == 0, "\(words): \(text.debugDescription)")
        }
        for words in [
            ["log", "-o", "csv"], ["log", "-o", "export"], ["export", "Team", "-o", "csv"],
        ] {
            let run = try CommandRun("tandem", words + ["--socket", place.socket])
            #expect(run.output.contains("\u{1b}[31m\u{9b}2J"), "\(words)")
        }
    }
}
