internal import ArgumentParser

/// Sources of the password or key. Neither can be given as an argument: other users can see arguments.
struct CredentialOptions: ParsableArguments {
    @Flag(help: "Read the password from standard input.")
    var passwordStdin = false

    @Option("Read the password from this file.", value: .file)
    var passwordFile: String?

    @Option("Read an API key from this file.", value: .file)
    var apiKeyFile: String?

    var flags: CredentialFlags {
        CredentialFlags(passwordStdin: passwordStdin, passwordFile: passwordFile, apiKeyFile: apiKeyFile)
    }
}

/// Sources of an API key. It cannot be given as an argument: other users can see arguments.
struct KeyOptions: ParsableArguments {
    @Option("Read the API key from this file.", value: .file)
    var apiKeyFile: String?

    @Flag(help: "Read the API key from standard input.")
    var apiKeyStdin = false

    func validate() throws {
        try require(!apiKeyStdin || apiKeyFile == nil, "--api-key-stdin cannot be combined with --api-key-file.")
    }

    var flags: CredentialFlags { CredentialFlags(apiKeyFile: apiKeyFile, apiKeyStdin: apiKeyStdin) }
}
