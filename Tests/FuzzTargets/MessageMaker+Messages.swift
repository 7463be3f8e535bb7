import TandemModel
import TandemQuery
package import TandemWire

extension MessageMaker {
    package mutating func operation() -> SaveOperation {
        switch int(1...3) {
        case 1:
            .insert(
                object: reference(),
                values: list { SlotValue(slot: $0.slot(), value: $0.value()) },
                links: list { $0.link(isAdded: true) })
        case 2:
            .update(
                object: reference(), baseVersion: u64(),
                values: list { maker in
                    SaveValue(
                        slot: maker.slot(), value: maker.value(),
                        base: maker.maybe { $0.value() })
                },
                links: list { $0.link() })
        default: .delete(object: reference(), baseVersion: u64())
        }
    }

    package mutating func message(_ kind: ClientMessage.Kind) -> ClientMessage {
        switch kind {
        case .hello:
            .hello(
                Hello(
                    author: text(), model: maybe { $0.text() }, resume: maybe { $0.position() },
                    interests: list { $0.text() }))
        case .fetch:
            .fetch(
                Fetch(
                    request: request(), kind: Fetch.Kind.allCases[int(0...2)],
                    related: list { maker in maker.list { $0.text() } },
                    interests: list { $0.tag() }, at: u64(), lease: u32(),
                    columns: maybe { $0.columns() }, list: maybe { $0.listDetails() }))
        case .read:
            .read(
                Read(
                    objects: references(),
                    members: list { MemberRequest(owner: $0.reference(), slot: $0.slot()) },
                    modelVersion: UInt16(int(0...65_535)), interests: list { $0.tag() },
                    at: u64(), lease: u32(), memberRows: bool()))
        case .save: .save(save())
        case .verdicts:
            .verdicts(
                VerdictRequest(
                    from: u64(),
                    items: list { maker in
                        VerdictItem(
                            request: maker.request(), sectionKeyPath: maker.maybe { $0.text() },
                            refreshKeyPaths: maker.list { $0.text() })
                    }, alongside: maybe { $0.alongside() }, at: u64()))
        case .sync: .sync(Sync(number: u64(), timeoutMilliseconds: u32()))
        case .history:
            .history(
                HistoryRequest(
                    from: u64(), to: u64(), interests: list { $0.tag() }, limit: u32(),
                    condition: condition()))
        case .lease: .lease(count: u32())
        case .schema:
            .schema(
                SchemaRequest(
                    model: maybe { $0.text() },
                    purpose: SchemaRequest.Purpose(rawValue: UInt8(int(0...2))) ?? .apply))
        case .status: .status
        case .blob: .blob(MessageMaker.blobs[int(0...1)])
        case .disconnect: .disconnect(client: u64(), request: bool() ? u32() : nil)
        case .consumer:
            .consumer(
                ConsumerRequest(
                    name: text(),
                    action: [
                        .register(at: maybe { $0.position() }), .acknowledge(position()), .remove,
                        .reset(to: maybe { $0.position() }),
                    ][int(0...3)]))
        case .batch: .batch(batch())
        case .pin: .pin(PinRequest(lease: u32(), position: u64()))
        case .insert: .insert(insert())
        case .explain: .explain(Fetch(request: request(), at: u64(), lease: u32()))
        case .vacuum:
            .vacuum(
                VacuumRequest(
                    keepBytes: maybe { $0.u64() }, keepSeconds: maybe { $0.u64() },
                    before: maybe { $0.u64() }, isForced: bool(), isDryRun: bool()))
        case .cancel: .cancel
        case .reload: .reload
        }
    }

    package mutating func batch() -> Batch {
        Batch(
            batchID: bytes(56), contentHash: hash(), author: maybe { $0.text() }, context: text(),
            modelVersion: UInt16(int(0...65_535)), request: request(),
            work: bool()
                ? .delete : .update(list { SlotValue(slot: $0.slot(), value: $0.value()) }),
            firstSentAt: maybe { $0.u64() })
    }

    package mutating func insert() -> BatchInsert {
        BatchInsert(
            batchID: bytes(56), author: maybe { $0.text() }, context: text(),
            policy: MergePolicy.allCases[int(0...4)], modelVersion: UInt16(int(0...65_535)),
            entity: tag(), first: u64(), before: hash(),
            rows: list { maker in
                BatchInsert.Row(
                    number: maker.u64(), hash: maker.hash(),
                    values: maker.list { SlotValue(slot: $0.slot(), value: $0.value()) },
                    links: maker.list { $0.link(isAdded: true) })
            }, isLast: bool(), after: u64(), firstSentAt: maybe { $0.u64() })
    }

    package mutating func save() -> SaveRequest {
        SaveRequest(
            saveID: bytes(64), contentHash: hash(), author: maybe { $0.text() },
            context: text(), policy: MergePolicy.allCases[int(0...4)],
            modelVersion: UInt16(int(0...65_535)), operations: list { $0.operation() },
            onlyAsks: bool(),
            firstSentAt: maybe { $0.u64() })
    }

    package mutating func message(_ kind: DaemonMessage.Kind) -> DaemonMessage {
        switch kind {
        case .welcome:
            .welcome(
                Welcome(
                    log: LogID(high: u64(), low: u64()), epoch: u32(), position: u64(),
                    resumed: bool(), model: maybe { $0.bytes() }, lease: lease(),
                    saveIDFloor: u64(), isReadOnly: bool(), server: text(),
                    limits: SessionLimits(
                        frameBytes: int(1...9_999), messageBytes: int(1...9_999),
                        requestsInFlight: int(1...99), controllers: int(1...99))))
        case .transaction:
            .transaction(TransactionPush(previous: u64(), transaction: transaction()))
        case .progress: .progress(ProgressPush(previous: u64(), position: u64()))
        case .fetched:
            .fetched(
                FetchAnswer(
                    position: u64(), count: u64(), objects: StoredObjects(list { $0.stored() }),
                    references: references(), related: list { $0.stored() },
                    values: list { maker in maker.list { $0.value() } },
                    places: maybe { $0.places() }, hasMore: bool()))
        case .part:
            .part(
                FetchedChunk(
                    objects: StoredObjects(list { $0.stored() }), references: references(),
                    values: list { maker in maker.list { $0.value() } },
                    places: maybe { maker in
                        let places = maker.places()
                        return places.slice(0..<places.count)
                    }, hasMore: bool()))
        case .objects:
            .objects(
                ReadAnswer(
                    position: u64(), objects: list { $0.stored() }, missing: references(),
                    members: list { maker in
                        let members = maker.references()
                        let ranks = maker.bool() ? members.compactMap { _ in maker.rank() } : nil
                        return MemberList(
                            owner: maker.reference(), slot: maker.slot(), members: members,
                            ranks: ranks)
                    }))
        case .saved:
            .saved(
                SaveAnswer(
                    position: u64(), wrote: bool(), isRepeat: bool(),
                    inserted: list { maker in maker.maybe { $0.reference() } }))
        case .verdicts: .verdicts(verdicts())
        case .synced: .synced(position: u64())
        case .history:
            .history(
                History(
                    position: u64(), transactions: list { $0.transaction() },
                    isComplete: bool(), first: u64()))
        case .lease: .lease(lease())
        case .schema:
            .schema(
                SchemaAnswer(
                    position: u64(), model: maybe { $0.bytes() },
                    report: maybe { $0.text() }))
        case .status: .status(text())
        case .failure: .failure(error())
        case .blob: .blob(bytes(64))
        case .disconnected: .disconnected(bool())
        case .consumer: .consumer(ConsumerAnswer(acknowledged: maybe { $0.u64() }))
        case .batched:
            .batched(BatchAnswer(position: u64(), count: u64(), failure: maybe { $0.error() }))
        case .pinned: .pinned(PinAnswer(position: u64(), seconds: u64()))
        case .inserted:
            .inserted(
                BatchInsertAnswer(
                    position: u64(), rows: u64(), hash: hash(), hasEnded: bool(),
                    failure: maybe { $0.error() }, failedRow: maybe { $0.u64() }))
        case .explained:
            .explained(
                ExplainAnswer(
                    position: u64(), steps: list { $0.step() }, rowsRead: u64(), keysRead: u64(),
                    returned: u64(), output: FetchOutput.allCases[int(0...5)], atOnce: bool()))
        case .vacuumed:
            .vacuumed(
                VacuumAnswer(
                    first: u64(), trimBelow: u64(), segments: u32(), bytes: u64(),
                    keptSegments: u32(), keptBytes: u64(), isMore: bool(),
                    holders: list { maker in
                        VacuumAnswer.RetentionHolder(
                            kind: VacuumAnswer.RetentionHolder.Kind.allCases[maker.int(0...2)],
                            name: maker.text(), position: maker.u64(), bytes: maker.u64())
                    }))
        case .state:
            .state(
                StatePush(
                    isReadOnly: bool(), since: Int64(bitPattern: random.next()), reason: text()))
        }
    }

    private mutating func step() -> FetchPlanStep {
        FetchPlanStep(
            entity: text(), access: FetchPlanStep.Access.allCases[int(0...5)],
            properties: list { $0.text() }, ranges: int(0...99_999), findsOnlyMatches: bool(),
            isOrdered: bool(), depth: int(0...255), needsOnlyKeys: bool())
    }

    private mutating func verdicts() -> Verdicts {
        Verdicts(
            position: u64(),
            items: list { maker in
                maker.list { maker in
                    Verdict(
                        object: maker.reference(), matches: maker.bool(),
                        refreshed: maker.bool(), version: maker.u64(),
                        row: maker.maybe { $0.row() })
                }
            }, related: list { $0.stored() }, alongside: maybe { $0.piggybackedAnswer() })
    }

    private mutating func alongside() -> PiggybackedRead {
        guard bool() else { return .read(Read(objects: references(), members: [])) }
        return .fetch(Fetch(request: request(), interests: list { $0.tag() }))
    }

    private mutating func columns() -> FetchColumns {
        let columns: [FetchColumn] = ["name", "league.name", "@count", "@sum.wins", "@max.name"]
        return FetchColumns(
            list { $0.columnOf(columns) }, groupBy: list { $0.text() },
            having: maybe { ObjectPredicate($0.predicate(3)) }, isDistinct: bool())
    }

    private mutating func listDetails() -> ListDetails {
        ListDetails(
            sectionKeyPath: maybe { $0.text() }, refreshKeyPaths: list { $0.text() },
            hops: list { maker in maker.list { $0.text() } }, rowsUpTo: u32())
    }

    private mutating func places() -> ListPlacements {
        let (sections, reached) = ([text()] + list { $0.text() }, references())
        var places = ListPlacements(sections: sections, reached: reached, hopCount: int(0...3))
        for _ in 0..<int(0...4) {
            let section = UInt32(int(0...sections.count - 1))
            bytes().withUnsafeBytes { places.append(reference(), key: $0, section: section) }
            for hop in 0..<places.hopCount {
                places.append(link: UInt32(int(0...reached.count)), hop: hop)
            }
        }
        return places
    }

    private mutating func columnOf(_ columns: [FetchColumn]) -> FetchColumn {
        columns[int(0...columns.count - 1)]
    }

    private mutating func piggybackedAnswer() -> PiggybackedAnswer {
        guard bool() else {
            return .objects(
                ReadAnswer(
                    position: u64(), objects: list { $0.stored() }, missing: references(),
                    members: []))
        }
        return .fetched(
            FetchAnswer(
                position: u64(), count: u64(), objects: StoredObjects(list { $0.stored() }),
                references: references(), related: []))
    }

    private mutating func condition() -> HistoryCondition {
        HistoryCondition(
            authors: list { $0.text() }, objects: references(),
            properties: list { ObservedProperty(entity: $0.tag(), slot: $0.slot()) },
            modelVersion: UInt16(int(0...65_535)), since: maybe { Int64(bitPattern: $0.u64()) },
            until: maybe { Int64(bitPattern: $0.u64()) })
    }

    /// Returns a random id that is valid for a message's type.
    package mutating func id<Message: WireMessage>(_ message: Message) -> UInt32 {
        switch message.kind.rules.requestID {
        case .zero: 0
        case .request: UInt32(int(1...1_000_000))
        case .any: UInt32(int(0...1_000_000))
        }
    }

    /// Returns a random client message.
    package mutating func clientEnvelope() -> Envelope<ClientMessage> {
        let kinds = ClientMessage.Kind.allCases
        let message = message(kinds[int(0...(kinds.count - 1))])
        return Envelope(id: id(message), message: message)
    }

    /// Returns a random daemon message.
    package mutating func daemonEnvelope() -> Envelope<DaemonMessage> {
        let kinds = DaemonMessage.Kind.allCases
        let message = message(kinds[int(0...(kinds.count - 1))])
        return Envelope(id: id(message), message: message)
    }
}

extension MessageMaker {
    /// Made once, because their contents are hashed.
    static let blobs = [1, 2].map { BlobReference(of: [UInt8](repeating: $0, count: 70_000)) }
}
