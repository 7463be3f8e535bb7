import Glibc
import Tandem
import TandemModel
import TestWorlds
import Testing

/// The scenarios of `SiblingContextTests`, with the writer in a process of its own.
@MainActor @Suite struct SiblingProcessTests {
    private func play(_ scenario: SiblingScenario, _ hasPredicate: Bool) throws {
        let world = try BridgedDaemon()
        defer { world.daemon.end(SIGTERM) }
        let container = PersistentContainer(
            model: SiblingScenario.model, socket: world.place.socket, author: "main")
        let list = try SiblingList(container.viewContext, hasPredicate: hasPredicate)
        let sibling = try world.bridge("background")
        let problems = try list.problems(scenario) { edits in
            let ops = edits.map(text).joined(separator: ", ")
            let answer = try sibling.ask(#"{"do": "save", "ops": [\#(ops)]}"#)
            return UInt64(try #require(answer["position"]?.int))
        }
        #expect(problems.isEmpty)
        _ = try sibling.finish()
    }

    /// Returns an edit as an operation of the bridge.
    private func text(_ edit: SiblingEdit) -> String {
        switch edit {
        case .insert(let title, let isEven):
            #"{"insert": "Dummy", "as": "\#(title)", "set": {"title": "\#(title)", "isEven": \#(isEven)}}"#
        case .set(let title, let isEven):
            #"{"update": "$\#(title)", "set": {"isEven": \#(isEven)}}"#
        case .delete(let title): #"{"delete": "$\#(title)"}"#
        }
    }

    @Test(arguments: [false, true])
    func `insert`(hasPredicate: Bool) throws { try play(.insert, hasPredicate) }

    @Test(arguments: [false, true])
    func `insert of objects that match`(hasPredicate: Bool) throws {
        try play(.insertMatching, hasPredicate)
    }

    @Test(arguments: [false, true])
    func `update before the first save`(hasPredicate: Bool) throws {
        try play(.updateBeforeFirstSave, hasPredicate)
    }

    @Test(arguments: [false, true])
    func `update after an earlier save`(hasPredicate: Bool) throws {
        try play(.updateAfterEarlierSave, hasPredicate)
    }

    @Test(arguments: [false, true])
    func `update after an earlier save, out of the predicate again`(hasPredicate: Bool) throws {
        try play(.updateAwayAfterEarlierSave, hasPredicate)
    }

    @Test(arguments: [false, true])
    func `delete before the first save`(hasPredicate: Bool) throws {
        try play(.deleteBeforeFirstSave, hasPredicate)
    }

    @Test(arguments: [false, true])
    func `delete of everything before the first save`(hasPredicate: Bool) throws {
        try play(.deleteAllBeforeFirstSave, hasPredicate)
    }

    @Test(arguments: [false, true])
    func `delete after an earlier save`(hasPredicate: Bool) throws {
        try play(.deleteAfterEarlierSave, hasPredicate)
    }
}
