import Tandem

/// An attempt to import a file or a folder.
@MainActor protocol ImportAttempt {
    /// The result so far.
    var result: ImportCounts { get }
    /// Imports everything; throws if the daemon can't be reached or rejects all rows.
    func run() async throws
    /// Removes the files that the attempt created; call it only if nothing was imported.
    func discard() throws
}

/// The result of an import.
struct ImportCounts {
    /// The number of imported objects by entity.
    var imported: [String: Int]
    /// The number of objects that were created only because links refer to them, by entity.
    var made: [String: Int] = [:]
    var rejected: Int

    /// The number of objects that were imported or created.
    var total: Int { (Array(imported.values) + made.values).reduce(0, +) }

    var json: JSON {
        var members: [String: JSON] = [
            "imported": Self.object(imported), "rejected": .int(Int64(rejected)),
        ]
        if !made.isEmpty { members["made"] = Self.object(made) }
        return .object(members)
    }

    private static func object(_ counts: [String: Int]) -> JSON {
        .object(counts.mapValues { .int(Int64($0)) })
    }

    /// One line for each entity.
    var lines: [String] {
        if imported.isEmpty { return [rejected > 0 ? "nothing was imported" : "nothing to import"] }
        return imported.sorted { $0.key < $1.key }.map {
            "imported \($1) \($1 == 1 ? "object" : "objects") of \($0)"
        }
            + made.sorted { $0.key < $1.key }.map {
                "created \($1) \($1 == 1 ? "object" : "objects") of \($0) for links"
            }
    }
}
