import TandemModel

/// The edits dropped because the current model lacks their properties, kept until a save reports
/// them.
struct DroppedEdits {
    /// The names of missing entities and properties, by a description of the model that lacks them.
    private var names: [String: Set<String>] = [:]

    var isEmpty: Bool { names.isEmpty }

    /// Records names, such as `Team` and `Team.wins`, that do not exist in `place`.
    mutating func record(_ lost: Set<String>, in place: String) {
        if !lost.isEmpty { names[place, default: []].formUnion(lost) }
    }

    mutating func merge(_ others: DroppedEdits) {
        for (place, lost) in others.names { record(lost, in: place) }
    }

    /// The error that the next save throws, or nil if no edits were dropped.
    var error: TandemError? {
        if isEmpty { return nil }
        let parts = names.sorted { $0.key < $1.key }.map { place, lost in
            "\(lost.sorted().joined(separator: ", ")) \(lost.count == 1 ? "does" : "do") not exist in \(place)"
        }
        return TandemError(
            .schemaMismatch,
            parts.joined(separator: "; ") + "; these edits were dropped and nothing was saved; "
                + "save again to save the other edits")
    }
}
