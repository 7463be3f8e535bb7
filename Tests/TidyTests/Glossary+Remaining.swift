/// The replaced names that are not gone yet.
extension Glossary {
    /// The declarations that are still to be renamed, each as file and name.
    ///
    /// The list may only get shorter.
    static let remaining: Set<String> = [
        "Client/Tandem/Context/ObjectRecord.swift: cleanLentRow",
        "Client/Tandem/Context/ObjectRecord.swift: isPassing",
        "Client/Tandem/Context/ObjectRecord.swift: lentRow",
        "Client/Tandem/Context/ObjectRecord.swift: settle",
        "Client/Tandem/Context/Passage.swift: Passage",
        "Client/Tandem/Context/RecordTable.swift: keepPassing",
        "Client/Tandem/Context/RecordTable.swift: passage",
        "Client/Tandem/Objects/LentObjects.swift: LentObjects",
        "Client/Tandem/Objects/PassingObject.swift: PassingObject",
        "Client/Tandem/Objects/PassingObject.swift: isPassing",
        "Client/Tandem/Objects/PassingRows.swift: PassingRows",
        "Client/Tandem/Objects/PassingRows.swift: passage",
        "Client/Tandem/Results/ControllerChange.swift: isNews",
        "Client/Tandem/Results/FetchedResultsController+Deciding.swift: laid",
        "Client/Tandem/Results/FetchedResultsController+Deciding.swift: placedList",
        "Client/Tandem/Results/FetchedResultsController+Overlay.swift: laid",
        "Client/Tandem/Results/FetchedResultsController+Showing.swift: isNews",
        "Daemon/TandemDaemon/Configuration/DaemonConfiguration.swift: RetentionPolicy",
    ]

    /// The files and folders that are still to be renamed.
    ///
    /// The list may only get shorter.
    static let remainingPaths: Set<String> = [
        "Client/Tandem/Context/Passage.swift",
        "Client/Tandem/Objects/LentObjects.swift",
        "Client/Tandem/Objects/PassingObject.swift",
        "Client/Tandem/Objects/PassingRows.swift",
    ]
}
