import TandemModel

/// Edits that had to be dropped because what was edited has no place in the store any more, until a save has told of them.
struct LostEdits {
    /// The names of entities and of their properties, by what has no place for them.
    private var names: [String: Set<String>] = [:]

    var isEmpty: Bool { names.isEmpty }

    /// Notes names, as `Team` and `Team.wins`, for which something has no place.
    mutating func note(_ lost: Set<String>, in place: String) {
        if !lost.isEmpty { names[place, default: []].formUnion(lost) }
    }

    mutating func note(_ others: LostEdits) {
        for (place, lost) in others.names { note(lost, in: place) }
    }

    /// What a save throws for their sake; nil if there are none.
    var error: TandemError? {
        if isEmpty { return nil }
        let parts = names.sorted { $0.key < $1.key }.map { place, lost in
            "\(place) has no place for \(lost.sorted().joined(separator: ", "))"
        }
        return TandemError(
            .schemaMismatch,
            parts.joined(separator: "; ") + "; these edits were dropped and nothing was saved; "
                + "save again to save the others")
    }
}

extension ManagedObjectContext {
    /// Throws `schemaMismatch` if edits had to be dropped, once: then the others may be saved.
    func checkLostEdits() throws(TandemError) {
        guard let error = lostEdits.error else { return }
        lostEdits = LostEdits()
        throw error
    }
}
