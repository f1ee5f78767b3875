internal import ArgumentParser

/// Where the password or key comes from. There is no way to give one as an argument: arguments are public.
struct CredentialOptions: ParsableArguments {
    @Flag(help: "Read the password from standard input.")
    var passwordStdin = false

    @Option(help: ArgumentHelp("Read the password from this file.", valueName: "file"), completion: .file())
    var passwordFile: String?

    @Option(help: ArgumentHelp("Read an API key from this file.", valueName: "file"), completion: .file())
    var apiKeyFile: String?

    /// The flags as the search for credentials takes them.
    func flags(noInput: Bool) -> CredentialFlags {
        CredentialFlags(
            passwordStdin: passwordStdin,
            passwordFile: passwordFile,
            apiKeyFile: apiKeyFile,
            noInput: noInput
        )
    }
}

/// Where an API key comes from. There is no way to give one as an argument: arguments are public.
struct KeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Read the API key from this file.", valueName: "file"),
        completion: .file()
    )
    var apiKeyFile: String?

    @Flag(help: "Read the API key from standard input.")
    var apiKeyStdin = false

    func validate() throws {
        guard !apiKeyStdin || apiKeyFile == nil else {
            throw ValidationError("--api-key-stdin cannot be combined with --api-key-file.")
        }
    }

    /// The flags as the search for credentials takes them.
    func flags(noInput: Bool) -> CredentialFlags {
        CredentialFlags(apiKeyFile: apiKeyFile, apiKeyStdin: apiKeyStdin, noInput: noInput)
    }
}
