import Foundation
import Tandem
import TandemIO
import Testing

/// `show`, `blame` and `diff` over a migration, whose changes to objects are in no transaction.
@Suite @MainActor struct MigratedPastVerbTests {
    let story: ModelStory

    init() throws { story = try ModelStory(Self.models) }

    /// `Team` is renamed to `Club` and `name` to `title`; `wins` is dropped and added again; `rank`
    /// is added.
    private static let models = [
        #"{"entities": {"Team": {"attributes": {"name": {"type": "string"}, "wins": {"type": "int"}}}}}"#,
        """
        {"entities": {"Club": {"renamedFrom": "Team", "attributes": {
            "title": {"type": "string", "renamedFrom": "name"},
            "rank": {"type": "int", "default": 7}}}}}
        """,
        """
        {"entities": {"Club": {"attributes": {
            "title": {"type": "string"}, "rank": {"type": "int", "default": 7},
            "wins": {"type": "int", "default": 0}}}}}
        """,
        """
        {"entities": {"Club": {"attributes": {
            "title": {"type": "string"}, "rank": {"type": "int", "default": 7},
            "wins": {"type": "int", "default": 0}}},
            "Cup": {"attributes": {"year": {"type": "int"}}}}}
        """,
    ]

    /// Saves two teams at position 2 and the wins of the first at 3, and migrates at 4.
    ///
    /// Position 1 is the first model.
    private func play() throws {
        try story.edit(0) { context in
            for name in ["Qatar", "Ghana"] {
                let team = try context.insert("Team")
                team["name"] = .string(name)
                team["wins"] = .int(0)
            }
        }
        try story.edit(0) { try $0.fetch(FetchRequest(entity: "Team")).first?["wins"] = .int(1) }
        try story.edit(1) { _ in }
    }

    private func tandem(_ words: [String], _ source: [String]) throws -> CommandRun {
        try CommandRun("tandem", words + source)
    }

    /// Returns the position and the kind of the change that set each property.
    private func blamed(_ run: CommandRun) -> [String: String] {
        let items = run.json.map {
            (
                $0["property"]?.string ?? "",
                "\($0["position"]?.int ?? 0) \($0["type"]?.string ?? "")"
            )
        }
        return Dictionary(items, uniquingKeysWith: { $1 })
    }

    @Test func `values that a migration set are shown, and blamed on the migration`() throws {
        try play()
        _ = try story.told { source in
            let now = try tandem(["show", "Club/1"], source)
            #expect(
                now.lines == [
                    "Club/1 as of 3, migrated at 4", "    rank  7", "    title \"Qatar\"",
                ], "\(now.output)")
            let json = try tandem(["show", "Club/2", "-o", "json"], source).json.first
            #expect(json?["values"] == .object(["rank": .int(7), "title": .string("Ghana")]))
            #expect(json?["version"]?.int == 2 && json?["migratedAt"]?.int == 4)
            let then = try tandem(["show", "Club/1", "--at", "3"], source)
            #expect(
                then.lines == ["Club/1 as of 3", "    title \"Qatar\"", "    wins  1"],
                "\(then.output)")
            let all = try tandem(["blame", "Club/1", "-o", "json"], source)
            #expect(blamed(all) == ["rank": "4 migration", "title": "2 insert"], "\(all.output)")
            let rank = try tandem(["blame", "Club/1", "rank"], source)
            #expect(
                rank.lines.count == 1 && rank.output.hasPrefix("4  ")
                    && rank.output.hasSuffix("rank  by the migration\n"), "\(rank.output)")
            let wins = try tandem(["blame", "Club/1", "wins"], source)
            #expect(wins.code == 2 && wins.output.contains("no property `wins`"), "\(wins.output)")
            let before = try tandem(["blame", "Club/1", "wins", "--at", "3", "-o", "json"], source)
            #expect(blamed(before) == ["wins": "3 update"], "\(before.output)")
        }
    }

    @Test func `diff reports in one line that a migration lies between the positions`() throws {
        try play()
        _ = try story.told { source in
            let over = try tandem(["diff", "3", "4"], source)
            #expect(
                over.lines.count == 1 && over.code == 0
                    && over.output.hasPrefix("a migration at position 4, "), "\(over.output)")
            let json = try tandem(["diff", "2", "-o", "json"], source)
            #expect(json.json.count == 1 && json.lines.count == 2, "\(json.output)")
            #expect(json.output.contains("tandem: a migration at position 4, "), "\(json.output)")
            let below = try tandem(["diff", "1", "3"], source)
            #expect(!below.output.contains("migration"), "\(below.output)")
        }
    }

    /// Position 5 is the migration that adds `wins` again, 6 one that leaves clubs unchanged, 7 a
    /// change of `rank`.
    @Test func `blame names the migration that added a property, and omits one without effect`()
        throws
    {
        try play()
        try story.edit(2) { _ in }
        try story.edit(3) { try $0.fetch(FetchRequest(entity: "Club")).last?["rank"] = .int(1) }
        _ = try story.told { source in
            let first = try tandem(["blame", "Club/1", "-o", "json"], source)
            #expect(
                blamed(first)
                    == ["rank": "4 migration", "title": "2 insert", "wins": "5 migration"],
                "\(first.output)")
            let second = try tandem(["blame", "Club/2", "-o", "json"], source)
            #expect(
                blamed(second)
                    == ["rank": "7 update", "title": "2 insert", "wins": "5 migration"],
                "\(second.output)")
            let shown = try tandem(["show", "Club/1"], source)
            #expect(shown.lines.contains("    wins  0"), "\(shown.output)")
            let later = try tandem(["show", "Club/2"], source)
            #expect(later.lines.first == "Club/2 as of 7", "\(later.output)")
            // The state that the first migration gave the object is not stored anywhere, so an
            // earlier one is shown.
            let between = try tandem(["show", "Club/1", "--at", "4"], source)
            #expect(
                between.lines.first?.hasPrefix("Club/1 as of 3, before the migration at 4, ")
                    ?? false, "\(between.output)")
        }
    }
}
