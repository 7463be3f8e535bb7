import TandemModel

/// The objects of a batch that a reader must evaluate again before the next transaction.
struct Reevaluation {
    private(set) var objects: [ObjectReference] = []
    private var bytes = 0
    /// The number of evaluations since the last transaction.
    private var rounds = 0

    /// Whether a reader must evaluate objects.
    var isNeeded: Bool { !objects.isEmpty }

    /// Whether more objects may be added to the evaluation.
    var hasRoom: Bool {
        objects.count < DaemonLimits.evaluatedObjects && bytes < DaemonLimits.evaluatedBytes
    }

    /// Begins another evaluation; throws `timeout` after too many without a transaction.
    mutating func begin() throws(TandemError) {
        assert(!isNeeded, "A batch has one evaluation at a time.")
        rounds += 1
        guard rounds <= DaemonLimits.batchEvaluations else {
            throw TandemError(
                .timeout,
                "other clients change the objects of the batch faster than its predicate is "
                    + "evaluated; continue it")
        }
    }

    mutating func add(_ object: StoredObject) {
        objects.append(object.object)
        bytes += object.row.bytes.count
    }

    /// Records the end of an evaluation.
    mutating func didEnd() { (objects, bytes) = ([], 0) }

    /// Records a transaction of the batch.
    mutating func didCommit() { rounds = 0 }
}
