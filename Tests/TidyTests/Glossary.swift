/// The names that were replaced, so that one thing has one name.
enum Glossary {
    /// A replaced name.
    struct Row: Equatable {
        var old: String
        var new: String
        /// The start of the paths for which the row holds; elsewhere the name has another meaning.
        var scope: String
    }

    /// The rows: the old name, the new one, and its scope if it has one.
    static let rows: [Row] = table.split(separator: "\n").map { line in
        let words = line.split(separator: " ").map(String.init)
        return Row(old: words[0], new: words[1], scope: words.count > 2 ? words[2] : "")
    }

    /// Folders are named by subject.
    static let folders = [
        "Looking": "Objects", "Care": "Maintenance", "Outside": "Observability", "Live": "Watch",
        "Pictures": "Charts",
    ]

    /// Verbs that say too little, each with the maximum number of functions that may be named with
    /// it.
    ///
    /// The numbers may only be lowered.
    static let verbs = [
        "note": 0, "judge": 0, "tell": 0, "giveUp": 0, "goOn": 0,
    ]

    /// Names that look replaced but mean something else, each with the reason.
    static let exceptions = [
        "fanOuts": "a fan-out is the field's word for a push to all subscribers",
        "heldRows": "rows that a sender of batches keeps until they are acknowledged",
        "includesPendingChanges": "a name of Core Data",
        "keepFreedMemory": "memory that was freed, and not the schedule of its trims",
        "keyEnd": "an index after a key, and not the bound of a range",
        "lastRanks": "a property with several ranks; its type is LastRankCache",
        "noReader": "the case that LMDB has no free reader",
        "noReaderNanoseconds": "the time after which the case noReader is retried",
        "recordFanOuts": "a fan-out is the field's word for a push to all subscribers",
        "processPendingChanges": "a name of Core Data",
        "savedOnce": "a save that a test carries out once",
    ]

    private static let table = """
        Latch ThreadSemaphore
        LatchPool SemaphorePool
        Intake InboundReader
        Turn ReaderRole Client/
        Reply ReplyPromise Client/
        settle resolve Client/
        settle didCheckpoint Daemon/
        SentRequests InFlightRequests
        FetchedPart FetchedChunk
        FetchedParts AnswerChunker
        partBytes chunkBytes
        AnswerParts ChunkReader
        AnswerGatherer AnswerAssembler
        Gathering ChunkOutcome
        isGathering isAssembling
        Inbox ReceivedBatch Client/
        Inbox DaemonMailbox Daemon/
        Session ServerState Client/
        ControllerPlace ControllerSlot
        Standing ContextFamilyState
        Step ResumableOperation Client/
        Alongside PiggybackedRead
        AlongsideAnswer PiggybackedAnswer
        PassingObject FlyweightObject
        Passage FlyweightSlot
        passage flyweightSlot
        keepPassing keepFlyweight
        isPassing isFlyweight Client/
        LentRow BorrowedRow
        LentRows BorrowedRows
        PassingRows FlyweightRows
        LentObjects FlyweightAnswer
        PassingTargets RelationshipTargetCache
        Move Repositioning Client/
        AwaitedRead RunningReadToken
        Question VerdictQuery Client/
        PrefetchFront PrefetchFrontier
        Handover ParentSave
        LostEdits DroppedEdits
        UnansweredSave InFlightSave
        settleUnanswered completeInFlightSave
        dropHints discardMirroredEdits
        isPreview isPredicted
        PendingChanges UnreportedChanges
        MissedSaves SaveGap
        ObservedChange ObserverEvent
        toldStep tracedStep
        tells traces Client/
        isTold deliveredHead
        loseThread resetAfterGap
        ResultsParticipant MergeParticipant
        isShort needsRefill Client/
        ListPlaces ListPlacements
        GatheredPlaces ReceivedPlacements
        PlacedList PlacementList
        PlacedLinks UnindexedLinks
        LateLinks LazyLinkTable
        KeptLinks CachedLinks
        HeldRows WindowRows
        RowJudge RowChangeCollector
        SaveJudge SaveMatcher
        Prefetched BufferedAnswer
        FetchedList ListAnswer
        OverlaidEdits OverlayEntry
        laid entries Client/
        unplaced undecided Client/
        ShownValues LastShownValues
        ShownByRows RelatedValueDiff
        ShownResults ResultsViewState
        good lastOrderedList Client/
        owed unreportedReasons
        held windowRows Client/Tandem/Results/FetchedResultsController<ManagedObject>
        unkept changesSinceCached Client/
        shownBefore lastShownValues
        isAskedAgain needsRedelivery
        ResultsFollower ResultsObserver
        NothingHeld RowOnlyReader
        NoReader EmptyReader
        ClassCheck ManagedClassValidator
        KeyPathTrace KeyPathRecorder
        Follower KeyPathProbe Client/
        KnownKeyPaths KeyPathCache
        Presence NonNilRequirement
        Turns SessionQueue
        Audience SubscriberGroup
        Audiences SubscriberRegistry
        fallBehind markLagging
        reachedEnd markCurrent
        FanOuts FanOutTracker
        PushRun SharedPushBatch
        PushCache PushBodyCache
        WaitingQueue IndexedHeap
        Outbound OutboundQueue
        GatherBuffer CoalescingBuffer
        Surroundings DaemonEnvironment
        Connection ClientChannel Daemon/
        Readiness EventPoller
        rewatch updateInterest
        Supervision ServiceNotifier Daemon/
        turnAway reject
        demand authorize Daemon/
        telling mappingReadErrors Daemon/
        refusing mappingShortage Daemon/
        ReadUnderWay RunningRead
        ObjectsUnderWay RunningObjectRead
        ColumnsUnderWay RunningColumnFetch
        VerdictsUnderWay RunningVerdicts
        AnswerUnderWay OutgoingAnswer
        beginsAnew mustRestart
        judgeAgain reevaluate
        AnswerSize ReadBudget
        Way InversePath Sources/
        RelatedSearch InverseSearch
        FreedMemory HeapTrimSchedule
        HistoryStretch HistoryRange
        UnwantedHistory SkippableHistory
        SaveAbility ReadOnlyState
        Trouble ActiveShortage Daemon/
        meets enterReadOnly Daemon/
        met record Daemon/
        lookAgainIfDue retryIfDue
        SaveMemory IdempotencyTable
        SavedOnce IdempotencyRecord
        WorkingGraph PlanningGraph
        WorkingObject PlanningObject
        WorkingSet PlanningObjects
        growing retryingAfterMapGrowth
        applyAgain replayFromCheckpoint
        Refusals RejectedInserts Daemon/
        RefusalBudget RejectionBudget
        LeaseBook LeaseAllocator
        ConsumerBook PendingAcknowledgements
        BatchWork BatchTask
        BatchRun BatchChangeTask
        InsertRun BatchInsertTask
        BatchInserting BatchInsertSender
        BatchOrder BatchSelection
        BatchPace AdaptiveBatchSize
        WorkPace BackgroundThrottle
        FoldedRenewal StaleFoldingScan
        isFoldedHere foldingMatchesThisBuild
        LimitCounts LimitCounters
        rewriteUnsure rewriteUnsyncedTail
        eraseAgain repeatErasures
        JournalPlace JournalLocation
        PlaceOptions StoreLocationOptions
        IndexQuestion IndexQuery
        FetchWalk FetchShortcut
        ListWalk ListIndexScan
        RowsWalk SortedTableScan
        FoundList LazyList
        FoundReferences FetchedReferences
        ListNotes ListDetailCollector
        ListRecords SortKeyArena
        ListRecordPile SortKeyRecords
        FetchPart FetchResultKind
        StepSort IncrementalSort
        RunMerge IncrementalMerge
        WalkedCandidates IndexOrderedCandidates
        WalkedIndex ScannedIndex
        IndexWalk IndexCursor
        PastGraph HistoricalGraph
        PastReader StoreReader
        PagesAhead PagePrefetcher
        LastRanks LastRankCache
        PlacesOfNumbers NumberIndexMap
        SaveRuns SequentialIDDetector
        KeyEnd RangeUpperBound
        KeyPace KeyReadBudget
        RelatedMemo RelatedKeyCache
        Fetched FetchAnswer
        Saved SaveAnswer
        Batched BatchAnswer
        BatchInserted BatchInsertAnswer
        Explained ExplainAnswer
        Vacuumed VacuumAnswer
        Objects ReadAnswer Sources/TandemWire/
        Holder RetentionHolder Sources/TandemWire/
        LoosePair MovablePair
        Spot RowLocation
        ShortCopy InlineCopy
        copyShort copyInline
        ToldObject ReconstructedObject
        ObjectStory ObjectHistory
        NetObject NetObjectChange
        NetLink NetLinkChange
        TodaysNames CurrentNames
        NewestNames TransactionNames
        ModelBook ModelTimeline
        NearWord SpellingSuggestion
        TopLook StatusSample
        LogLook LogStyle
        TimelineLook TimelineStyle
        BridgeNews PendingSchemaEvents
        WatchNews WatchChange
        Waiting ElapsedTimeIndicator Sources/tandem/
        Misfit RowError Sources/tandem/
        TransactionRing RecentTransactions Client/
        HistoryFilter HistoryMatcher Daemon/
        SaveOptions SaveRequestOptions Sources/tandem/
        RetentionPolicy JournalRetention Daemon/
        isHeldUp isBlockedByClient
        isMeant matches
        isNews hasSubscribers
        goesOn shouldRetry
        owesProgress needsProgressMark
        ScriptedLine ScriptedConnection
        JournalCare JournalMaintenance
        BatchPart PlannedBatchTransaction Daemon/
        InsertPart PlannedInsertTransaction Daemon/
        BatchFinder BatchIterator
        Lent BorrowedObject Sources/TandemModel/
        ConnectionTrouble Disconnection
        OptionalShown OptionalDeclaration Client/
        SetShown SetDeclaration Client/
        ArrayShown ArrayDeclaration Client/
        LogPictureOptions LogChartOptions
        StoreStanding StoreSummary
        CrashLuck CrashOutcome
        Told DisclosedState Tests/FaultTests/
        OracleQuestion OracleRequest
        LentGraph BorrowedGraph
        """
}
