import TandemJournal
import TandemModel

extension PayloadKeys {
    /// By what the indexes of the journal find a transaction: its entities as groups, its objects as members, its time.
    static let ofTransaction: PayloadReading = { payload in
        EncodedTransaction.touched(by: payload).map {
            PayloadKeys(groups: $0.entities, members: $0.objects, stamp: $0.time)
        }
    }
}
