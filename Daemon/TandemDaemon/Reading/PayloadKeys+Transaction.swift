import TandemJournal
import TandemModel

extension PayloadKeys {
    /// By what the indexes of the journal find a transaction: its entities as groups, its objects as members, its time.
    static let ofTransaction: PayloadReading = { payload in
        guard let transaction = try? EncodedTransaction(bytes: payload),
            let touched = try? transaction.touched()
        else { return nil }
        return PayloadKeys(
            groups: touched.entities, members: touched.objects, stamp: transaction.time)
    }
}
