import Foundation
import Tandem
import TandemIO
import Testing

/// `tandem blame`, `history`, `show` and `diff`, over a journal whose every byte is known, and on a
/// daemon.
@Suite(.ownThread) struct PastVerbTests {
    let journal: MadeJournal

    init() throws { journal = try MadeJournal() }

    private func tandem(_ arguments: String...) throws -> CommandRun {
        try journal.tandem(arguments, zone: MadeJournal.zone)
    }

    private func golden(_ name: String, _ run: CommandRun) throws {
        #expect(run.code == 0, "\(run.output)")
        try Golden.expect(run.output, name)
    }

    @Test func `blame names the author who last set each property`() throws {
        try golden("blame.player", try tandem("blame", "Player/3"))
        try golden("blame.player.team", try tandem("blame", "Player/3", "team"))
        try golden("blame.player.3", try tandem("blame", "Player/3", "--at", "3"))
        try golden("blame.team.gone", try tandem("blame", "Team/1"))
        try golden("blame.json", try tandem("blame", "Player/3", "-o", "json"))
        #expect(try tandem("blame", "Player/3", "nope").code == 2)
        #expect(try tandem("blame", "Nope/3").code == 2)
        #expect(try tandem("blame", "Player/99").code == 1)
        #expect(try tandem("blame", "Player").code == 2)
        #expect(try tandem("blame", "Player/3", "--at", "9").code == 1)
    }

    @Test func `history lists the changes of one object`() throws {
        try golden("history.team", try tandem("history", "Team/1"))
        try golden("history.team.short", try tandem("history", "Team/1", "-o", "short", "-n", "2"))
        try golden("history.team.reverse", try tandem("history", "Team/1", "-o", "cat", "-r"))
        #expect(try tandem("history", "Team/99").code == 1)
    }

    @Test func `show prints an object as it was at a position`() throws {
        try golden("object.team.3", try tandem("show", "Team/1", "--at", "3"))
        try golden("object.team.4", try tandem("show", "Team/2", "--at", "4"))
        try golden("object.player.2", try tandem("show", "Player/3", "--at", "2"))
        try golden("object.json", try tandem("show", "Player/3", "-o", "json"))
        #expect(try tandem("show", "Team/1").code == 1)
        #expect(try tandem("show", "Team/1").output.contains("was deleted at position 5"))
        #expect(try tandem("show", "Team/1", "--at", "1").code == 1)
    }

    @Test func `diff lists each object once, with its net change`() throws {
        try golden("diff.2-4", try tandem("diff", "2", "4"))
        try golden("diff.2", try tandem("diff", "2"))
        try golden("diff.json", try tandem("diff", "2", "4", "-o", "json"))
        try golden("diff.player", try tandem("diff", "1", "4", "-E", "Player"))
        // The team was inserted and deleted between the positions.
        #expect(try !tandem("diff", "1").output.contains("Team/1\n"))
        #expect(try tandem("diff", "3", "3").output == "")
        #expect(try tandem("diff", "4", "2").code == 2)
        #expect(try tandem("diff", "1", "9").code == 1)
    }

    @Test @MainActor func `a daemon and its directory print the same`() throws {
        let place = try Place()
        let daemon = try place.serve()
        let container = PersistentContainer(
            model: try ManagedObjectModel(
                parsing: #"{"entities": {"Team": {"attributes": {"name": {"type": "string"}}}}}"#),
            socket: place.socket, author: "seeder")
        let context = container.makeContext(name: "main")
        let team = try context.insert("Team")
        for name in ["a", "b", "c"] {
            team["name"] = .string(name)
            try context.save()
        }
        let verbs = [
            ["blame", "\(team.id)"], ["history", "\(team.id)"],
            ["show", "\(team.id)", "--at", "3"],
            ["diff", "2"], ["log", "-o", "csv"], ["log", "-r", "-o", "short-iso"],
        ]
        container.close()
        let online = try verbs.map { try CommandRun("tandem", $0 + ["--socket", place.socket]) }
        daemon.end(SIGTERM)
        let offline = try verbs.map { try CommandRun("tandem", $0 + ["-D", place.store]) }
        for (verb, runs) in zip(verbs, zip(online, offline)) {
            #expect(runs.0.code == 0 && runs.1.code == 0, "\(verb) \(runs.0.output)")
            // Only a daemon prints positions with the log that they belong to.
            let cursors = try Regex("([0-9]+)@[0-9]+-[0-9a-f-]+")
            let text = runs.0.output.replacing(cursors) { match in
                match.output[1].substring.map(String.init) ?? ""
            }
            #expect(text == runs.1.output, "\(verb)")
        }
        #expect(online[2].output.contains("\"b\""), "\(online[2].output)")
    }
}
