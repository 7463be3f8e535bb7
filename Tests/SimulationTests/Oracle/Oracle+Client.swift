import TandemModel
import TandemQuery
import TandemWire

/// Checks of a client's messages against the truth.
extension Oracle {
    // MARK: Law 2

    /// Checks that a client which moves from `cursor` directly to `position` misses no transaction
    /// of interest.
    func skips(from cursor: UInt64, below position: UInt64, _ interests: Set<EntityTag>) {
        guard cursor < position else { return }
        for number in (cursor + 1)..<position where number <= truth.last {
            let missed = truth[number].filtered { interests.contains($0) }
            expect(missed == nil, 2, "a client at \(cursor) never received \(number)")
        }
    }

    func receives(
        _ transaction: EncodedTransaction, after cursor: UInt64, _ followed: FollowedEntities
    ) {
        let position = transaction.position
        learns(position)
        guard position <= truth.last else {
            return report(1, "a client received push \(position), which is not durable")
        }
        expect(position > cursor, 2, "a client at \(cursor) received push \(position)")
        skips(from: cursor, below: position, followed.certain)
        let wanted = followed.certain.union(transaction.chunks.map(\.tag))
        let expected = truth[position].filtered(wanted.contains)
        let isExplained = transaction.chunks.allSatisfy {
            $0.tag == 0 || followed.mayFollow($0.tag)
        }
        expect(
            expected == transaction && isExplained, 2,
            "transaction \(position) has other content when pushed")
    }

    /// Checks pushes after a read that added subscriptions.
    ///
    /// The read was answered at `position`, and the client is at `cursor`: all later transactions
    /// must include the new entities.
    func checkPushes(
        _ heard: [UInt64: EncodedTransaction], from position: UInt64, to cursor: UInt64,
        _ interests: Set<EntityTag>
    ) {
        guard position < cursor else { return }
        for number in (position + 1)...cursor where number <= truth.last {
            expect(
                heard[number] == truth[number].filtered(interests.contains), 2,
                "push \(number) lacks entities to which a read at \(position) subscribed")
        }
    }

    // MARK: Law 3

    /// Checks an acknowledged save.
    func acknowledges(_ saved: SaveAnswer, _ save: SaveRecord, uid: UInt32) {
        learns(saved.position)
        if let first = save.answer {
            let isSame =
                saved.position == first.position && saved.wrote == first.wrote
                && saved.inserted == first.inserted
            return expect(
                isSame, 3,
                "a repeat is answered with \(saved), but the save was answered with \(first)")
        }
        let key = Truth.SaveKey(uid: uid, id: save.request.saveID)
        let position = truth.position(of: key)
        guard saved.wrote else {
            return expect(
                position == nil, 3,
                "a save at \(saved.position) is answered as one that wrote nothing")
        }
        guard let position, position == saved.position else {
            let place = position.map { "at \($0)" } ?? "nowhere"
            return report(3, "a save is acknowledged at \(saved.position), but it is \(place)")
        }
        expect(
            position > save.floor, 3,
            "a save is at \(position), but \(save.floor) was known before it was sent")
        let model = truth.model(at: position)?.version
        expect(
            model == save.model.version, 3,
            "a save made under model \(save.model.version) is at \(position), under "
                + "\(model.map { "\($0)" } ?? "none")")
        check(save, saved)
    }

    /// Checks a rejected save: it must not have been applied.
    func refuses(_ save: SaveRecord, uid: UInt32, _ error: TandemError) {
        let key = Truth.SaveKey(uid: uid, id: save.request.saveID)
        if let position = truth.position(of: key) {
            report(3, "a save is at \(position), but its repeat was refused: \(error)")
        }
    }

    /// Checks that the graph has the saved values, as far as the save alone determines them.
    private func check(_ save: SaveRecord, _ saved: SaveAnswer) {
        let inserts = save.request.operations.filter {
            if case .insert = $0 { true } else { false }
        }
        var aliases: Set<ObjectNumber> = []
        var taken: Set<ObjectNumber> = []
        expect(inserts.count == saved.inserted.count, 3, "the answer to a save lacks inserts")
        for (operation, object) in zip(inserts, saved.inserted) where object != operation.object {
            aliases.insert(operation.object.number)
            if let object { taken.insert(object.number) }
        }
        for operation in save.request.operations {
            let number = operation.object.number
            guard !aliases.contains(number), !taken.contains(number) else { continue }
            switch operation {
            case .insert(_, let values, _):
                for item in values { check(number, item.slot, item.value, save, saved) }
            case .update(_, let version, let values, _):
                let wins = version == 0 || [.objectTrump, .overwrite].contains(save.request.policy)
                for item in values where wins {
                    check(number, item.slot, item.value, save, saved)
                }
            case .delete: break
            }
        }
    }

    private func check(
        _ number: ObjectNumber, _ slot: Int, _ value: PropertyValue, _ save: SaveRecord,
        _ saved: SaveAnswer
    ) {
        // A cascade of the same save may have deleted the object; an update may have coincided with
        // another client's deletion.
        guard let tag = truth.tags[number],
            let meant = save.model.entity(tagged: tag)?.properties[slot], meant.attribute != nil,
            let slot = truth.model(at: saved.position)?.entity(tagged: tag)?.slot(of: meant.name),
            let values = truth.image(number, at: saved.position)?.values
        else { return }
        expect(
            values[slot] == value, 3,
            "\(meant.name) of \(number) is \(values[slot]) at \(saved.position), "
                + "\(value) was saved")
    }

    /// Checks the answer to a batch, at its end or where it stopped.
    func ends(_ record: BatchRecord, _ answer: BatchAnswer, uid: UInt32) {
        learns(answer.position)
        expect(
            answer.position <= truth.last, 1,
            "a batch ends at \(answer.position), which is not durable")
        let key = Truth.SaveKey(uid: uid, id: record.batch.batchID)
        if let limit = record.batch.request.limit {
            expect(
                answer.count <= UInt64(limit), 3,
                "a batch processed \(answer.count) objects, above its limit of \(limit)")
        }
        if let first = record.answer {
            return expect(
                answer == first, 3,
                "a repeat is answered with \(answer), but the batch was answered with \(first)")
        }
        guard let known = truth.progress(of: key) else {
            return expect(
                answer.failure == nil || answer.count > 0, 3,
                "a batch without progress has a failure"
            )
        }
        let isEnd = answer.failure == nil
        expect(
            answer.position == known.position && answer.count >= known.progress.done
                && known.progress.hasEnded == isEnd
                && (!isEnd || answer.count == known.progress.done), 3,
            "a batch is answered with \(answer), but its progress is \(known)")
    }

    // MARK: Reads

    /// Checks the position of an answer to a request sent when `floor` was known.
    func reads(at position: UInt64, askedAt floor: UInt64) {
        learns(position)
        expect(
            position >= floor, 3,
            "a read is answered at \(position), but \(floor) was known when it was sent")
        expect(position <= truth.last, 1, "a read shows \(position), which is not durable")
    }

    /// Checks a fetch of all rows of an entity, sorted by rank, then number.
    func fetches(_ answer: FetchAnswer, _ request: FetchDescriptor, isPast: Bool = false) {
        guard answer.position <= truth.last,
            let entity = truth.model(at: answer.position)?.entity(named: request.entity)
        else { return }
        let rank = entity.slot(of: "rank")
        func key(_ number: ObjectNumber) -> Int64 {
            let values = truth.image(number, at: answer.position)?.values
            guard let rank, case .int(let value) = values?[rank] else { return .min }
            return value
        }
        let expected = truth.objects(of: entity, at: answer.position).map { (key($0), $0) }
            .sorted { $0 < $1 }.map(\.1)
        expect(
            answer.objects.map(\.object.number) == expected, 3,
            "a fetch at \(answer.position) gives \(answer.objects.map(\.object.number)), "
                + "the fold \(expected)")
        for object in answer.objects { checkRead(object, at: answer.position, isPast: isPast) }
    }

    /// Checks one row of an answer; the version of an undone row is the answer's position.
    func checkRead(_ object: StoredObject, at position: UInt64, isPast: Bool = false) {
        guard position <= truth.last else { return }
        guard let image = truth.image(object.object.number, at: position),
            let values = image.values,
            let entity = truth.model(at: position)?.entity(tagged: object.object.tag)
        else { return report(3, "an answer at \(position) shows an object that does not exist") }
        guard object.row.isValid(for: entity) else {
            return report(3, "an answer at \(position) has a row of another model")
        }
        let isVersion = object.version == image.version || (isPast && object.version == position)
        expect(
            isVersion && object.row.values(in: entity) == values, 3,
            "object \(object.object.number) at \(position) is read as of \(object.version), "
                + "but its version is \(image.version)")
    }

    func checkRead(_ list: MemberList, askedUnder version: UInt16, at position: UInt64) {
        expect(
            position > truth.last || truth.model(at: position)?.version == version, 3,
            "members requested under model \(version) are answered under another model at \(position)"
        )
        guard position <= truth.last,
            let entity = truth.model(at: position)?.entity(tagged: list.owner.tag),
            list.slot < entity.properties.count,
            let relationship = entity.properties[list.slot].relationship
        else { return }
        let members = truth.members(of: list.owner.number, relationship.linkID, at: position)
        expect(
            list.members.map(\.number) == members, 3,
            "the members of \(list.owner.number) at \(position) are read as "
                + "\(list.members.map(\.number)), the fold is \(members)")
    }

    /// Checks an answer to a history request.
    func checkHistory(_ history: History, _ request: HistoryRequest) {
        learns(history.position)
        guard history.position <= truth.last, request.from <= history.position else {
            return report(2, "a history from \(request.from) ends at \(history.position)")
        }
        let wanted = Set(request.interests)
        var expected: [EncodedTransaction] = []
        for position in (request.from..<history.position).map({ $0 + 1 }) {
            let whole = truth[position]
            if let part = wanted.isEmpty ? whole : whole.filtered(wanted.contains) {
                expected.append(part)
            }
        }
        expect(
            history.transactions == expected, 2, "a history has other transactions than requested")
    }
}
