import TandemModel
public import TandemQuery
import TandemWire

/// How the daemon carried out a fetch.
public struct FetchExplanation: Sendable {
    /// The position that was read at.
    public let position: UInt64
    /// How candidates were found; what finds related objects comes last.
    public let steps: [FetchPlanStep]
    /// How many rows were read to find the answer.
    public let rowsRead: Int
    /// How many keys of indexes and links were read.
    public let keysRead: Int
    /// How many objects the fetch gives, or what the count is.
    public let returned: Int
}

extension PersistentContainer {
    /// How the daemon carries out a fetch, which index it uses and what it reads; blocks.
    ///
    ///     let found = try container.explain(FetchRequest(entity: "Team", sort: ["-wins"], limit: 3))
    ///     found.steps.first?.properties       // the index
    ///
    /// The fetch is carried out to its end, but nothing of it comes here: neither rows nor pending edits have a part in it. What plan is
    /// taken depends on what the store holds, so it may be another one tomorrow.
    ///
    /// - Parameters:
    ///   - request: The fetch.
    ///   - isCount: Whether only the number of objects is asked for.
    ///   - position: A position of the journal to read at instead of now.
    /// - Returns: How it went.
    /// - Throws: What a fetch throws.
    public func explain(
        _ request: FetchRequest, isCount: Bool = false, at position: UInt64? = nil
    ) throws -> FetchExplanation {
        let fetch = Fetch(request: request, kind: isCount ? .count : .rows, at: position ?? 0)
        guard case .explained(let answer) = try connection.answer(.explain(fetch)).get() else {
            throw TandemError(.storage, "the daemon did not answer how it fetches")
        }
        return FetchExplanation(
            position: answer.position, steps: answer.steps,
            rowsRead: Int(clamping: answer.rowsRead),
            keysRead: Int(clamping: answer.keysRead), returned: Int(clamping: answer.returned))
    }
}
