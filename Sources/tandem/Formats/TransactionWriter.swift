import FoundationEssentials
import Tandem

/// One transaction in the formats of `tandem log`, each in a file of its own.
struct TransactionWriter {
    let transaction: Transaction
    /// The position as other processes take it; nil where log and epoch aren't known.
    let cursor: Position?
    /// The model at this place of the journal; without it values can't be read.
    let model: CompiledModel?

    /// The time in UTC, to the millisecond.
    var time: String {
        let seconds = Double(transaction.time / 1_000) / 1_000
        return Date(timeIntervalSince1970: seconds)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// The entity of a change that can be read with the model.
    func entity(of change: Change) -> CompiledEntity? {
        guard let entity = model?.entity(tagged: change.object.tag), change.isValid(for: entity)
        else { return nil }
        return entity
    }
}
