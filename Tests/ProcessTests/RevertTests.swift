import Foundation
import Tandem
import TandemIO
import Testing

/// `tandem revert`: repeated reverts, taken unique values, and the names of re-created objects.
@Suite(.ownThread) struct RevertTests: StoreSuite {
    let place: Place
    private static let model = """
        {"entities": {
            "Team": {"attributes": {"name": {"type": "string"}, "zone": {"type": "string"}},
                "relationships": {"fans": {"to": "Fan", "toMany": true, "inverse": "team"}},
                "uniqueness": [["name"]]},
            "Fan": {"attributes": {"name": {"type": "string"}, "seat": {"type": "int"}},
                "relationships": {"team": {"to": "Team", "inverse": "fans"},
                    "friends": {"to": "Fan", "toMany": true, "inverse": "friendOf"},
                    "friendOf": {"to": "Fan", "toMany": true, "inverse": "friends"}}}}}
        """

    init() throws { place = try .serving(Self.model) }

    /// Inserts an object and returns its id.
    private func insert(_ words: String...) throws -> String {
        let run = try CommandRun("tandem", ["insert"] + words + ["--socket", place.socket])
        return try #require(run.lines.first { $0.contains("/") }, "\(run.output)")
    }

    /// Returns the position of the last transaction.
    private func position() throws -> String {
        try tandem("log", "-n", "1", "-o", "json").json.first?["position"]?.text ?? "?"
    }

    private func delete(_ id: String) throws -> String {
        expect(try tandem("delete", id), 0)
        return try position()
    }

    /// Expects a dry run and a revert to list the same conflicts and to save nothing.
    private func expectConflicts(_ number: String, _ conflicts: [String]) throws {
        let end = try position()
        let run = try tandem("revert", number)
        expect(run, 1, "transaction \(number) cannot be reverted: \(conflicts.count) conflict")
        #expect(
            run.lines.filter { $0.hasPrefix("conflict: ") } == conflicts.map { "conflict: \($0)" })
        let dryRun = try tandem("revert", number, "--dry-run")
        #expect(dryRun.output == run.output && dryRun.code == 1)
        #expect(try position() == end)
    }

    @Test func `a transaction is reverted once, and again after its revert was reverted`() throws {
        let deletion = try delete(try insert("Fan", "name=A"))
        expect(try tandem("revert", deletion), 0, "reverted transaction \(deletion) by ")
        let revert = try position()
        try expectConflicts(
            deletion, ["transaction \(deletion) was already reverted by transaction \(revert)"])
        #expect(try tandem("count", "Fan").output == "1\n")
        expect(try tandem("revert", revert), 0, "delete Fan/")
        let second = try position()
        try expectConflicts(
            revert, ["transaction \(revert) was already reverted by transaction \(second)"])
        expect(try tandem("revert", deletion), 0, "reverted transaction \(deletion) by ")
        try expectConflicts(
            deletion,
            ["transaction \(deletion) was already reverted by transaction \(try position())"])
        // Reverting a revert's revert puts the first revert into effect again.
        expect(try tandem("revert", try position()), 0)
        expect(try tandem("revert", try position()), 0)
        expect(try tandem("revert", deletion), 1, "was already reverted by")
        #expect(try tandem("count", "Fan").output == "1\n")
    }

    /// Reverts a transaction through a relay that runs `body` before the first save is forwarded.
    private func revert(_ number: String, after body: @escaping @Sendable () throws -> Void) throws
        -> CommandRun
    {
        let relay = try RefusingRelay(place.path + "/relay", to: place.socket)
        let hasRun = Locked(false)
        relay.beforeForwarding { message in
            guard case .save = message, !hasRun.withLock({ $0 }) else { return }
            try body()
            hasRun.withLock { $0 = true }
        }
        let run = try CommandRun("tandem", ["revert", number, "--socket", relay.path])
        #expect(hasRun.withLock { $0 })
        return run
    }

    @Test func `two reverts of a transaction at the same moment create one object`() throws {
        let deletion = try delete(try insert("Fan", "name=A"))
        let socket = place.socket
        let late = try revert(deletion) {
            expect(
                try CommandRun("tandem", ["revert", deletion, "--socket", socket]), 0,
                "reverted transaction \(deletion) by ")
        }
        expect(
            late, 1,
            "conflict: transaction \(deletion) was already reverted by transaction \(try position())",
            "nothing was saved")
        #expect(try tandem("count", "Fan").output == "1\n")
    }

    private static let canBeAnotherUser =
        ThisProcess.effectiveUserID == 0 && isInstalled("setpriv")

    @Test(.enabled(if: canBeAnotherUser, "requires root and setpriv"))
    func `of two reverts by two users at the same moment, the later one is undone`() throws {
        let deletion = try delete(try insert("Fan", "name=A"))
        chmod(place.path, 0o755)
        chmod(place.socket, 0o666)
        // From the working directory, the user needs no permission for the directories above it.
        let other =
            "cd '\(place.path)' && setpriv --reuid 65534 --regid 65534 --clear-groups "
            + "'\(DaemonProcess.products)/tandem' revert \(deletion) --socket socket"
        let late = try revert(deletion) {
            let other = try CommandRun(shell: other)
            expect(other, 0, "reverted transaction \(deletion) by transaction 4")
        }
        expect(
            late, 1, "conflict: transaction \(deletion) was already reverted by transaction 4",
            "transaction 5, which reverted it, was undone by transaction 6")
        #expect(try tandem("count", "Fan").output == "1\n")
        try expectConflicts(
            deletion, ["transaction \(deletion) was already reverted by transaction 4"])
    }

    @Test func `a link that is changed at the moment of a revert is a conflict`() throws {
        let (fan, friend) = (try insert("Fan", "name=A"), try insert("Fan", "name=B"))
        expect(try tandem("update", fan, "friends+=\(friend)"), 0)
        let addition = try position()
        let socket = place.socket
        let late = try revert(addition) {
            for edit in ["friends-=\(friend)", "friends+=\(friend)"] {
                expect(
                    try CommandRun("tandem", ["update", fan, edit, "--socket", socket]), 0, fan)
            }
        }
        expect(late, 1, "conflict: a link was changed later", "was undone by transaction")
        let values = try tandem("export", "Fan").json.first?["values"]
        #expect(values?["friends"] == .array([.string(friend)]))
    }

    @Test func `a unique value that another object has is a conflict, also of a dry run`() throws {
        let team = try insert("Team", "name=Qatar")
        let deletion = try delete(team)
        let other = try insert("Team", "name=Qatar")
        try expectConflicts(deletion, [#"\#(team): name "Qatar" is taken by \#(other)"#])
        expect(try tandem("update", other, "name=Doha"), 0)
        let update = try position()
        let third = try insert("Team", "name=Qatar")
        try expectConflicts(update, [#"\#(other): name "Qatar" is taken by \#(third)"#])
    }

    @Test func `a unique value that another object takes during the save is a conflict`() throws {
        let relay = try RefusingRelay(place.path + "/relay", to: place.socket)
        let team = try insert("Team", "name=Qatar")
        let deletion = try delete(team)
        let (socket, other) = (place.socket, Locked<String?>(nil))
        relay.beforeForwarding { message in
            guard case .save = message, other.withLock({ $0 }) == nil else { return }
            let run = try CommandRun(
                "tandem", ["insert", "Team", "name=Qatar", "--socket", socket])
            other.withLock { $0 = run.lines.first }
        }
        let run = try CommandRun("tandem", ["revert", deletion, "--socket", place.path + "/relay"])
        let taker = try #require(other.withLock { $0 })
        expect(
            run, 1, #"conflict: \#(team): name "Qatar" is taken by \#(taker)"#, "nothing was saved")
    }

    @Test @MainActor func `a unique value that the transaction moved is free for its revert`()
        throws
    {
        let team = try insert("Team", "name=Qatar")
        let container = PersistentContainer(socket: place.socket)
        defer { container.close() }
        let context = container.makeContext(name: "move")
        let first = try context.existingObject(with: try #require(ObjectID(team)))
        first["name"] = .string("Doha")
        try context.insert("Team")["name"] = .string("Qatar")
        let move = try context.save().number
        expect(try tandem("revert", "\(move)", "--dry-run"), 0, "update \(team)")
        expect(try tandem("revert", "\(move)"), 0, "reverted transaction \(move)")
        #expect(
            try tandem("export", "Team").json.map { $0["values"]?["name"]?.string } == ["Qatar"])
    }

    @Test func `a re-created object that breaks a newer rule is named by its old id`() throws {
        let fan = try insert("Fan", "name=A", "seat=12")
        let deletion = try delete(fan)
        let next = Self.model.replacing(
            #""seat": {"type": "int"}"#, with: #""seat": {"type": "int", "max": 9}"#)
        expect(try tandem("schema", "migrate", try file("next.json", next), "--yes"), 0)
        let run = try tandem("revert", deletion)
        expect(run, 1, "conflict: \(fan): seat: ", "1 conflict; nothing was saved")
        #expect(try tandem("revert", deletion, "--dry-run").output == run.output)
    }

    @Test func `a dry run names a re-created object by its old id only`() throws {
        let fan = try insert("Fan", "name=A")
        let run = try tandem("revert", try delete(fan), "--dry-run")
        #expect(run.lines == ["insert a Fan, formerly \(fan)", "nothing was saved (--dry-run)"])
    }
}
