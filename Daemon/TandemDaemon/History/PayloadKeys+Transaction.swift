import TandemJournal
import TandemModel

extension PayloadKeys {
    /// Returns the keys by which the journal's indexes find a transaction: its entities as groups,
    /// its objects as members, and its time.
    static let ofTransaction: PayloadReading = { payload in
        EncodedTransaction.touched(by: payload).map {
            PayloadKeys(groups: $0.entities, members: $0.objects, stamp: $0.time)
        }
    }
}
