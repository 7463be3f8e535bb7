/// A behaviour that public test suites of results controllers check, or that bug reports describe.
package struct KnownCase: Sendable, CustomStringConvertible {
    /// The behaviour.
    package var name: String
    /// The test suites or reports from which the case was taken.
    package var origin: String
    package var rows: [SmallRow]
    /// One transaction's edits, by index in `rows`.
    package var edits: [SmallEdit]
    /// The expected parts of the change, in any order; rows are named by their index in `rows`, new
    /// ones `new`.
    package var expected: Set<String>

    package var description: String { name }

    init(
        _ name: String, _ origin: String, _ rows: [SmallRow], _ edits: [SmallEdit],
        _ expected: Set<String>
    ) {
        self.name = name
        self.origin = origin
        self.rows = rows
        self.edits = edits
        self.expected = expected
    }
}

extension TableChange {
    /// Returns the parts of a change in the form of ``KnownCase/expected``; `name` returns the name
    /// of a row.
    package func words(_ name: (UInt64) -> String) -> Set<String> {
        func text(_ place: Path?) -> String { place.map { "\($0.section).\($0.item)" } ?? "" }
        return Set(
            sections.map { section in
                "section \(section.name) \(section.isInsert ? "is inserted at" : "is deleted at") \(section.index)"
            }
                + rows.map { row in
                    let name = name(row.number)
                    return switch row.kind {
                    case .delete: "\(name) is deleted at \(text(row.from))"
                    case .insert: "\(name) is inserted at \(text(row.to))"
                    case .move: "\(name) moves \(text(row.from)) to \(text(row.to))"
                    case .update: "\(name) changes \(text(row.from)) to \(text(row.to))"
                    }
                })
    }
}

extension KnownCase {
    private static func row(_ key: Int, _ section: String, _ value: Int = 0) -> SmallRow {
        SmallRow(key, section, value: value)
    }

    package static let all: [KnownCase] = comingAndGoing + moving + sections

    private static let comingAndGoing: [KnownCase] = [
        KnownCase(
            "the first row of an empty list inserts its section", "CoreStore, RBQ", [],
            [.insert(row(5, "a"))], ["section a is inserted at 0", "new is inserted at 0.0"]),
        KnownCase(
            "deleting the last row of the list deletes its section", "CoreStore, bignerdranch",
            [row(10, "a")], [.delete(0)], ["section a is deleted at 0", "0 is deleted at 0.0"]),
        KnownCase(
            "all rows of a deleted section are reported", "CoreStore, DungeonMaster",
            [row(10, "b"), row(20, "b"), row(30, "a")], [.delete(0), .delete(1)],
            ["section b is deleted at 0", "0 is deleted at 0.0", "1 is deleted at 0.1"]),
        KnownCase(
            "one row is inserted, and others only shift", "GRDB, RZCollectionList",
            [row(10, "a"), row(20, "a")], [.insert(row(5, "a"))], ["new is inserted at 0.0"]),
        KnownCase(
            "several deletions all use the old indices", "GRDB 618",
            [row(10, "a"), row(20, "a"), row(30, "a"), row(40, "a")], [.delete(1), .delete(2)],
            ["1 is deleted at 0.1", "2 is deleted at 0.2"]),
        KnownCase(
            "a deletion uses the old indices, an insertion the new ones", "realm, IGListKit",
            [row(10, "a"), row(20, "a"), row(30, "a")], [.delete(0), .insert(row(25, "a"))],
            ["0 is deleted at 0.0", "new is inserted at 0.1"]),
        KnownCase(
            "writing equal values is not a change", "GRDB, openradar 23037698",
            [row(10, "a"), row(20, "a")], [.set(0, row(10, "a"))], []),
        KnownCase(
            "insert at the top, delete at the end, all others shifted",
            "openradar 13702395, KSP 20",
            [row(10, "a"), row(20, "a"), row(30, "a")],
            [
                .insert(row(5, "a")), .delete(2), .set(0, row(40, "a")), .set(1, row(50, "a")),
            ],
            [
                "new is inserted at 0.0", "2 is deleted at 0.2", "0 changes 0.0 to 0.1",
                "1 changes 0.1 to 0.2",
            ]),
    ]

    private static let moving: [KnownCase] = [
        KnownCase(
            "a change that does not affect the order is an update", "CoreDataPlus, bignerdranch",
            [row(10, "a"), row(20, "a")], [.set(1, row(20, "a", 1))], ["1 changes 0.1 to 0.1"]),
        KnownCase(
            "a new sort key that does not move the row is an update",
            "openradar 22380191, 22796598; DTModelStorage, CoreDataStack 137",
            [row(10, "a"), row(20, "a"), row(30, "a")], [.set(1, row(25, "a"))],
            ["1 changes 0.1 to 0.1"]),
        KnownCase(
            "a row that is moved and changed is reported once", "XLData 15, bignerdranch",
            [row(10, "a"), row(20, "a"), row(30, "a")], [.set(0, row(40, "a", 1))],
            ["0 moves 0.0 to 0.2"]),
        KnownCase(
            "only the changed row moves, not those that it passes", "realm, unlike DifferenceKit",
            [row(10, "a"), row(20, "a")], [.set(0, row(30, "a"))], ["0 moves 0.0 to 0.1"]),
        KnownCase(
            "an updated row has a new index if an earlier row is deleted", "oleb.net, wangling.me",
            [row(10, "a"), row(20, "a")], [.delete(0), .set(1, row(20, "a", 1))],
            ["0 is deleted at 0.0", "1 changes 0.1 to 0.0"]),
        KnownCase(
            "a changed row shifted by an insertion is an update", "wangling.me",
            [row(10, "a"), row(20, "a")], [.insert(row(5, "a")), .set(0, row(15, "a"))],
            ["new is inserted at 0.0", "0 changes 0.0 to 0.1"]),
        KnownCase(
            "two rows that both got later keys keep their order and only change",
            "openradar 27957917 reversed", [row(10, "a"), row(20, "a")],
            [.set(0, row(30, "a")), .set(1, row(40, "a"))],
            ["0 changes 0.0 to 0.0", "1 changes 0.1 to 0.1"]),
    ]

    private static let sections: [KnownCase] = [
        KnownCase(
            "a row moved into an existing section is one move", "bignerdranch, DungeonMaster",
            [row(10, "b"), row(20, "b"), row(30, "a")], [.set(0, row(40, "a"))],
            ["0 moves 0.0 to 1.1"]),
        KnownCase(
            "a row moved out of a section that becomes empty",
            "DungeonMaster, JSQDataSourcesKit 12",
            [row(10, "b"), row(20, "a")], [.set(0, row(30, "a"))],
            ["section b is deleted at 0", "0 moves 0.0 to 0.1"]),
        KnownCase(
            "a row moved into a new section", "bignerdranch, DungeonMaster, MDMCoreData 14",
            [row(10, "b"), row(20, "b")], [.set(1, row(30, "a"))],
            ["section a is inserted at 1", "1 moves 0.1 to 1.0"]),
        KnownCase(
            "the only row of a section moved into a new section at the same index is a move with equal paths",
            "DungeonMaster", [row(10, "b"), row(20, "a"), row(30, "c")], [.set(2, row(40, "d"))],
            ["section c is deleted at 2", "section d is inserted at 2", "2 moves 2.0 to 2.0"]),
        KnownCase(
            "the first row moved into a new first section is a move with equal paths",
            "YapDatabase",
            [row(10, "b"), row(20, "b")], [.set(0, row(5, "a"))],
            ["section a is inserted at 0", "0 moves 0.0 to 0.0"]),
        KnownCase(
            "all rows of a section get a new section name", "RBQ, World Cup",
            [row(10, "b"), row(20, "b"), row(30, "a")],
            [.set(0, row(10, "d")), .set(1, row(20, "d"))],
            [
                "section b is deleted at 0", "section d is inserted at 0", "0 moves 0.0 to 0.0",
                "1 moves 0.1 to 0.1",
            ]),
        KnownCase(
            "a section that passes another is rebuilt, the other one stays",
            "YapDatabase, realm", [row(10, "b"), row(20, "a"), row(30, "a")],
            [.set(0, row(40, "b"))],
            ["section b is deleted at 0", "section b is inserted at 1", "0 moves 0.0 to 1.0"]),
        KnownCase(
            "a section emptied and filled by another row stays", "RBQ, realm",
            [row(10, "b"), row(20, "a"), row(30, "a")], [.delete(0), .insert(row(5, "b"))],
            ["0 is deleted at 0.0", "new is inserted at 0.0"]),
        KnownCase(
            "rows of a deleted section may stay in another one", "DungeonMaster, RBQ",
            [row(10, "b"), row(20, "b"), row(30, "a")], [.delete(0), .set(1, row(35, "a"))],
            ["section b is deleted at 0", "0 is deleted at 0.0", "1 moves 0.1 to 0.1"]),
    ]
}
