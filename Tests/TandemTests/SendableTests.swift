import Tandem
import TandemModel
import TandemQuery
import TandemResults
import Testing

/// Types that may be sent between actors, as checked by the compiler.
@Suite(.ownThread) struct SendableTests {
    private func isSendable<Value>(_: Value.Type) -> Bool { false }
    private func isSendable<Value: Sendable>(_: Value.Type) -> Bool { true }

    @Test func `ids, rows, payloads, positions, requests and snapshots are Sendable`() {
        #expect(isSendable(ObjectID.self) && isSendable(TypedID<Content>.self))
        #expect(
            isSendable(Row.self) && isSendable(PropertyValue.self) && isSendable(Transaction.self))
        #expect(isSendable(SavePayload.self) && isSendable(SaveSequence.self))
        #expect(isSendable(ObservedSave.self) && isSendable(ObserverEvent.self))
        #expect(isSendable(ObjectsChange.self) && isSendable(SaveGap.self))
        #expect(isSendable(Position.self) && isSendable(HistoryChanges<Content>.self))
        #expect(isSendable(HistoryChange<Content>.self) && isSendable(HistoryValues<Content>.self))
        #expect(isSendable(FetchRequest<ManagedObject>.self) && isSendable(ObjectPredicate.self))
        #expect(isSendable(BatchDeleteRequest.self) && isSendable(BatchUpdateRequest.self))
        #expect(isSendable(BatchInsertRequest<[BatchValues]>.self))
        #expect(isSendable(HistoryFilter.self) && isSendable(JournalConsumer.self))
        #expect(isSendable(ObjectSnapshot.self) && isSendable(FetchedResultsSnapshot.self))
        #expect(isSendable(ControllerChange.self) && isSendable(ResultsChange.self))
        #expect(isSendable(PersistentContainer.self) && isSendable(TandemError.self))
    }

    @Test func `contexts, objects and controllers are not`() {
        #expect(!isSendable(ManagedObjectContext.self) && !isSendable(ContextObserver.self))
        #expect(!isSendable(ManagedObject.self) && !isSendable(Content.self))
        #expect(!isSendable(FetchedResultsController<ManagedObject>.self))
        #expect(!isSendable(FetchedResults<Int>.self))
    }
}
